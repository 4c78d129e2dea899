"""The analysis: exclusions, accuracy, mixed models, tests, figures and the report; and the audit of published tables.

The rooms, in the order of the data's way through them:

    data/               reads trials from a store, an export or any CSV into the tidy table, scored by `batteries`
    provenance/         the digest of the data, study versions, changed items
    preregistration/    locked plans, and deviations from them
    exclusions/         the preregistered rules, and flow tables that add up
    measures/           accuracy, agreement of people and models, difficulty, signal detection
    statistics/         intervals, tests, mixed models: numbers in, named numbers out
    planned/            the plan's tables, models and tests, and their sensitivity to each exclusion rule
    power/              simulated responses, for the number of participants
    figures/            the figures
    report/             one self-contained HTML page
    audit/              checks whether published numbers can all be true

`study` analyzes a study, with the numbers of `study_tables`; `any_table` analyzes any other tidy file. `result` is what
they return. `sentences` writes numbers in words, and `output_files` writes tables and figures as files.

Nothing here draws from a global random generator. People (`human`) and `simulated` participants are never pooled.
"""
