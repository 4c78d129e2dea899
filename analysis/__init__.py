"""What the answers say: exclusions, accuracy, models, tests, figures, report; and whether printed numbers can be true.

Read the room in the order the data walk through it:

    columns.py              the columns of the view `trials` and of the tidy table, and the words every table shares
    raw_rows.py, raw_columns.py, raw_cells.py, data.py
                            `read_trials`: the tidy table of a store or its export, scored by the graders of `batteries`
    memory.py               freed arrays given back to the system
    patterns.py             what the answers tell of how they came about
    data_file.py            any other tidy file
    provenance.py           `data_digest`, and what a report must say of where its numbers come from
    lock.py, registration.py    plans stamped before data are seen, and how far they were followed
    exclusion_steps.py, exclusions.py, exclusions_by_group.py
                            the preregistered rules, and flow tables that add up
    sessions.py, study_versions.py      one row per session, and which versions of the study they had
    accuracy.py, differences.py, comparisons.py
                            proportion correct, and people beside models over the same items
    model_answers.py        answers of models that were none, and stored scoring beside ours
    statistics/             intervals, tests, mixed models and the rest: numbers in, named numbers out
    study_rows.py, chosen_rows.py   the rows that a plan's tables, models and tests are about
    planned_*.py            those tables, models and tests, their figures and their words
    sensitivity.py          all of it again without each exclusion rule
    simulated_answers.py, power.py, planned_power.py    how many participants it takes
    figures/, study_figures.py, figure_files.py         the figures, and which a study gets
    wording.py, shown_tables.py, study_notes.py, methods.py, references.py    numbers in words
    report*.py, templates/  one self-contained HTML page
    csv_text.py, output_folder.py   tables as CSV; files moved into place together
    analyze.py, analyze_data.py     all of it, from a study's trials or any table and a plan to a folder
    audit/                  whether published numbers can be true

Nothing here draws from a global generator. People (`human`) and `simulated` participants are never put together.
"""
