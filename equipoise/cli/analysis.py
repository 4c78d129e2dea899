"""The commands of the analysis: analyze responses, audit published numbers, find the number of participants."""

import gc
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.stores import STORE, STUDY, warn_of_open_folder

if TYPE_CHECKING:
    from analysis.preregistration.lock import Lock


@click.command(epilog="Example: equipoise analyze my-study -o my-study/results")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@STORE
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--data", type=click.Path(path_type=Path), help="Analyze this CSV file instead of a study.")
@click.option("--plan", type=click.Path(path_type=Path), help="Analysis plan for --data, a YAML file.")
@click.option(
    "--lock", is_flag=True, help="Lock the plan before data are seen: store the plan and the time. Analyze nothing."
)
@click.option("--study-version", help="Include only sessions of this version of the study.  [default: all versions]")
@click.option("--without-simulated", is_flag=True, help="Exclude simulated participants from the analysis.")
@click.option(
    "--require-all",
    is_flag=True,
    help="Exit with code 1 if a result of the plan cannot be computed. The other results are written anyway.",
)
@click.pass_context
def analyze(
    context: click.Context,
    study: Path | None,
    store: str | None,
    output: Path | None,
    data: Path | None,
    plan: Path | None,
    lock: bool,
    study_version: str | None,
    without_simulated: bool,
    require_all: bool,
) -> None:
    """Apply the preregistered exclusions, compare people with language models, and write the report.

    The analysis plan is the entry `analysis` in STUDY/study.yaml. To analyze a table instead of a study, give the table
    with --data and its analysis plan with --plan. The results are tables, statistical models, figures and report.html.
    If a result cannot be computed, the command lists it on standard error and computes the other results. Warnings
    about tests and models are on standard error too.
    """
    from analysis.second_process import second_process

    with second_process() as drawer:  # It starts before the imports, because it needs half a second for its own.
        gc.disable()  # A fifth of the time of the imports was a search for garbage in modules, which are not garbage.
        import pandas as pd

        from analysis.preregistration.lock import Lock
        from equipoise.commands.analyze import (
            ResultsNotComputedError,
            analyze_with,
            not_computed_lines,
            warning_lines,
        )

        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()
        pd.set_option("mode.string_storage", "python")  # pyarrow, if installed, is slower with texts of small tables.
        exit_code = 0
        try:
            made = analyze_with(
                drawer, study, output, data=data, plan=plan, lock=lock, study_version=study_version,
                without_simulated=without_simulated, require_all=require_all, store=store,
            )  # fmt: skip
        except ResultsNotComputedError as error:
            made, exit_code = error.analysis, 1
    if isinstance(made, Lock):
        _print_lock(made)
    elif output is not None:
        click.echo(f"The report is {output / 'report.html'}; its tables are in {output / 'tables'}.")
        for line in [*not_computed_lines(made, output), *warning_lines(made)]:
            click.echo(line, err=True)
        warn_of_open_folder(output)
    context.exit(exit_code)


def _print_lock(locked: "Lock") -> None:
    click.echo(f"The plan was locked at {locked.locked_at}; its digest is {locked.digest}.")
    if locked.n_sessions:
        click.echo(f"Before the lock, {locked.n_sessions:,} sessions had begun; the report states this number.")


@click.command(epilog="Example: equipoise audit table-2.csv --participants 169 --trials 24")
@click.argument("source", metavar="TABLE", type=click.Path(path_type=Path))
@click.option("--participants", type=click.IntRange(1), help="Number of participants recruited in the whole study.")
@click.option("--trials", type=click.IntRange(1), help="Number of trials of one participant in one row of the table.")
@click.option("--items", type=click.IntRange(1), help="Number of responses of one participant in one mean.")
@click.option("--scale", nargs=2, type=int, metavar="LOW HIGH", help="Lowest and highest response, as whole numbers.")
@click.option("--whole-numbers", is_flag=True, help="Check means and SDs: each response is a whole number.")
@click.option("--total", "totals", multiple=True, metavar="LABEL", help="Label of a row with a total; may be repeated.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="WHAT=HEADER",
    help="Meaning and header of a column, such as trials=Responses; may be repeated.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the findings, .csv.")
@click.pass_context
def audit(
    context: click.Context, source: Path, participants: int | None, trials: int | None, items: int | None,
    scale: tuple[int, int] | None, whole_numbers: bool, totals: tuple[str, ...], columns: tuple[str, ...],
    output: Path | None,
) -> None:  # fmt: skip
    """Check whether the numbers of a published table can all be true.

    TABLE is a CSV file of the table as printed. Each row is a group, a condition or a test. The exit code is 1 if a
    finding is impossible, inconsistent or suspicious.
    """
    from equipoise.commands.audit import all_consistent, finding_lines
    from equipoise.commands.audit import audit as run_audit

    found = run_audit(
        source, participants=participants, trials=trials, items=items, scale=scale, whole_numbers=whole_numbers,
        totals=totals, columns=columns, output=output,
    )  # fmt: skip
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo("\n".join(finding_lines(found, width)))
    if not all_consistent(found):
        context.exit(1)


@click.command(epilog="Example: equipoise power my-study --effect condition=B:-0.10")
@STUDY
@click.option(
    "--effect", "effects", metavar="EFFECT", multiple=True,
    help=(
        "Difference that is added to the accuracy in trials with certain levels, such as "
        "condition=B,inference_level=3:-0.15; may be repeated."
    ),
)  # fmt: skip
@click.option(
    "--test",
    metavar="NAME",
    help="Name of a test in the analysis plan.  [default: a paired t test of the first effect]",
)
@click.option("--model", metavar="NAME", help="Name of a mixed model in the analysis plan, instead of --test.")
@click.option(
    "--term", metavar="TERM",
    help=(
        "Term or coefficient of the mixed model, or levels of a comparison, such as condition=B.  "
        "[default: the only term]"
    ),
)  # fmt: skip
@click.option(
    "--against-model", metavar="MODEL",
    help=(
        "Compare people with a language model: its accuracy, such as 0.75, or the name of a model in the report, whose "
        "stored responses are used."
    ),
)  # fmt: skip
@click.option(
    "--comparison", metavar="NAME",
    help="Name of a comparison in the analysis plan, for --against-model.  [default: over all items]",
)  # fmt: skip
@click.option(
    "--equivalence", is_flag=True,
    help="Find the power to show equivalence, with the margin of the test or comparison.",
)  # fmt: skip
@click.option(
    "--accuracy", metavar="SHARE", type=click.FloatRange(0, 1, True, True),
    help=(
        "People's accuracy in the population before the effects are added.  [default: 0.8; with --equivalence to a "
        "model or a number, the same accuracy]"
    ),
)  # fmt: skip
@click.option(
    "--participant-sd", metavar="SD", default=1.0, show_default=True, type=click.FloatRange(0, 5),
    help="Standard deviation of participants, in log-odds.",
)  # fmt: skip
@click.option(
    "--item-sd", metavar="SD", default=0.5, show_default=True, type=click.FloatRange(0, 5),
    help="Standard deviation of items, in log-odds.",
)  # fmt: skip
@click.option(
    "--item", "item_columns", metavar="COLUMN", multiple=True,
    help="Factor that identifies an item; may be repeated, as in --item scenario --item version.  [default: item_id]",
)  # fmt: skip
@click.option(
    "-n", "ns", metavar="N", multiple=True, type=click.IntRange(2, 10_000),
    help="Number of participants to try; may be repeated.  [default: search for the smallest N for each --power]",
)  # fmt: skip
@click.option(
    "--power", "powers", metavar="SHARE", multiple=True, type=click.FloatRange(0, 1, True, True),
    default=(0.8, 0.9), show_default=True, help="Power to reach; may be repeated.",
)  # fmt: skip
@click.option(
    "--largest-n", metavar="N", default=1_000, show_default=True, type=click.IntRange(2, 10_000),
    help="Largest N of the search.",
)  # fmt: skip
@click.option(
    "--simulations", metavar="NUMBER", default=1_000, show_default=True, type=click.IntRange(20, 1_000_000),
    help="Number of simulated studies for each N.",
)  # fmt: skip
@click.option(
    "--alpha", metavar="SHARE", type=click.FloatRange(0, 1, True, True),
    help="Level of significance, two-sided.  [default: 1 - confidence of the analysis plan, usually 0.05]",
)  # fmt: skip
@click.option(
    "--excluded", metavar="SHARE", default=0.0, show_default=True, type=click.FloatRange(0, 1, max_open=True),
    help="Share of participants who are excluded from the analysis.",
)  # fmt: skip
@click.option(
    "--seed",
    metavar="NUMBER",
    default=1,
    show_default=True,
    type=click.IntRange(0),
    help="Seed of the simulated responses.",
)
@STORE
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for power.csv and power.svg.")
def power(
    study: Path, effects: tuple[str, ...], test: str | None, model: str | None, term: str | None,
    against_model: str | None, comparison: str | None, equivalence: bool, accuracy: float | None,
    participant_sd: float, item_sd: float, item_columns: tuple[str, ...], ns: tuple[int, ...],
    powers: tuple[float, ...], largest_n: int, simulations: int, alpha: float | None, excluded: float, seed: int,
    store: str | None, output: Path | None,
) -> None:  # fmt: skip
    """Find how many participants a study needs: simulate the study many times, and analyze the simulated responses.

    Without -n, the command searches for the smallest number of participants for each power. With -n, it reports the
    power for this number of participants. If several effects apply to a trial, their differences are added. If all
    effects are 0, use -n: the power is then the rate of false positives. No response is stored.
    """
    from equipoise.commands.power.power import power as find_power

    found = find_power(
        study, effects, test=test, model=model, term=term, against_model=against_model, comparison=comparison,
        equivalence=equivalence, accuracy=accuracy, participant_sd=participant_sd, item_sd=item_sd,
        item_columns=item_columns, ns=ns, powers=powers, largest_n=largest_n, simulations=simulations, alpha=alpha,
        excluded=excluded, seed=seed, store=store, output=output,
    )  # fmt: skip
    click.echo(found)
