"""What the answers say: exclusions, accuracy, differences, figures and the report.

Read the room in the order the data walk through it:

    columns.py          the columns of the view `trials` and of the tidy table, and the words every table shares
    raw_rows.py         rows out of a store (read-only) or out of a CSV export of it
    data.py             `read_trials`: the tidy table, a row a trial, scored by the graders of `batteries`
    provenance.py       `data_digest`, and what a report must say of where its numbers come from
    exclusions.py       `apply_exclusions`: the preregistered rules in their order, and the flow table that adds up
    intervals.py        Wilson's interval (weighted too), the participant bootstrap, MOVER for a difference
    accuracy.py         `accuracy`: proportion correct by subject and factors
    differences.py      `differences`: people minus model over the same items in the same mixture
    model_answers.py    answers of models that were none, and stored scoring beside ours
    figures.py, svg.py  the figures, as stable SVG with text as text
    wording.py          numbers in words
    report.py           `render_report`: one self-contained HTML page
    csv_text.py         cells that a spreadsheet will not take for formulas
    output_folder.py    files moved into place together, and nobody else's files touched
    analyze.py          `analyze`: all of it, from a table and a plan to a folder

Nothing here draws from a global generator. People (`human`) and `simulated` participants are never put together.
"""
