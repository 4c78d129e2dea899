"""Analyze responses and write a report; audit published tables.

Packages:

    data/               reads a store, an export or any CSV file into the tidy table; `batteries` scores the responses
    provenance/         the digest of the data, the versions of the study, and items that changed between versions
    preregistration/    locked analysis plans, and deviations from a locked plan
    exclusions/         the preregistered exclusion rules, and tables with the number of participants at each step
    measures/           accuracy, agreement between people and models, difficulty, signal detection
    statistics/         intervals, tests and mixed models
    planned/            the tables, statistical models and tests of the plan, and their sensitivity to exclusion rules
    power/              simulated studies, to find the number of participants
    figures/            the figures
    report/             one self-contained HTML page
    audit/              checks whether published numbers can all be true

`study.analyze_trials` analyzes a study; `study_tables` computes the numbers of a study. `any_table.analyze_table`
analyzes any other tidy file. `result` defines the results that `analyze_trials` and `analyze_table` return. `sentences`
writes numbers in words. `output_files` converts tables and figures to the bytes of files.

Functions that draw random numbers have a parameter for a seed or a generator. No result combines people (`kind` is
`human`) with simulated participants (`kind` is `simulated`).
"""
