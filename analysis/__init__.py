"""The analysis: exclusions, accuracy, mixed models, tests, figures and the report; and the audit of published tables.

Its packages, in the order in which the data pass through them:

    data/               reads trials from a store, an export or any CSV into the tidy table, scored by `batteries`
    provenance/         the digest of the data, study versions, changes of items
    preregistration/    locked plans, and deviations from a locked plan
    exclusions/         the preregistered rules, and flow tables that add up
    measures/           accuracy, agreement of people and models, difficulty, signal detection
    statistics/         intervals, tests and mixed models
    planned/            the plan's tables, models and tests, and the sensitivity of results to each exclusion rule
    power/              simulated studies, to find the number of participants
    figures/            the figures
    report/             one self-contained HTML page
    audit/              checks whether published numbers can all be true

`study` analyzes a study; `study_tables` computes the numbers of a study. `any_table` analyzes any other tidy file.
`result` defines the results that both functions return. `sentences` writes numbers in words. `output_files` writes
tables and figures as the bytes of files.

No module uses a global random generator. People (`human`) and `simulated` participants are never pooled.
"""
