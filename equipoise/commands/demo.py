"""`equipoise demo`: the whole workflow on two sample studies, from the server to the reports."""

import sys
from pathlib import Path

import click

from equipoise.commands.analyze import analyze
from equipoise.commands.models.imports import models_import
from equipoise.commands.models.prompts import models_prompts
from equipoise.commands.models.storing import add_runs
from equipoise.commands.server_process import announce, researcher_token, running_server
from equipoise.progress_bar import progress_bar
from equipoise.studies import check_new_folder, copy_sample_study
from experiment.load_study import load_study
from experiment.models.baselines import BASELINES, run_baseline
from experiment.models.mock_replies import COLUMN_MAP, MOCK_MODELS, write_mock_replies
from experiment.simulated_participants import simulate
from experiment.study.definition import Study
from server.serve import free_port, serve
from server.settings import read_settings

BLACKBOX, STORIES = "blackbox-predict", "intuition-single"
TEMPERATURES = (0.2, 1.0)
EPOCHS = 2


def demo(folder: Path | str | None = None, n_participants: int = 40, seed: int = 1, keep_serving: bool = True) -> None:
    """Run two sample studies with simulated participants, baselines and mock models, and write the reports.

    The baselines respond to the study `blackbox-predict` only. A mock model is a small program that replaces a
    language model.

    Parameters
    ----------
    folder
        Folder to make, with one folder for each study; by default `equipoise-demo`. If this folder exists, a number is
        added to the name.
    n_participants
        Number of simulated participants in each study.
    seed
        Seed of all responses of participants and replies of mock models.
    keep_serving
        True to serve the study `blackbox-predict` after the reports, until Ctrl-C.

    Raises
    ------
    InputError
        If the folder is not empty or cannot be made.
    """
    folder = Path(folder) if folder is not None else _fresh_folder()
    check_new_folder(folder)
    for name in (BLACKBOX, STORIES):
        _run_study(name, folder / name, n_participants, seed)
    click.echo("The reports:")
    for name in (BLACKBOX, STORIES):
        click.echo(f"  {name}: {(folder / name / 'results' / 'report.html').resolve()}")
    if keep_serving:
        served = folder / BLACKBOX
        # Print the path of this command: in a new clone, the command is in .venv/bin, which is not in PATH.
        command = sys.argv[0] if Path(sys.argv[0]).stem == "equipoise" else "equipoise"
        click.echo(
            f"Take the study `{BLACKBOX}` yourself, then run: {command} analyze {served} -o {served / 'results'}"
        )
        settings = read_settings(port=free_port())
        serve(served, settings, on_ready=lambda: announce(served, settings))


def _run_study(name: str, folder: Path, n_participants: int, seed: int) -> None:
    """Run one sample study, from simulated participants to the report."""
    copy_sample_study(name, folder)
    study = load_study(folder)
    click.echo(f"Study `{name}`: {len(study.test_items)} items, {study.definition.n_groups} groups.")
    with running_server(folder) as url, progress_bar("  Responding over HTTP", n_participants) as on_done:
        simulate(url, researcher_token(study), study, n_participants, seed, on_done)
    click.echo(f"  1. {n_participants} simulated participants took the study over HTTP.")
    if name == BLACKBOX:
        click.echo("  2. Computational baselines and mock models responded to the same items:")
        _echo_runs(add_runs(study, [run_baseline(study, baseline) for baseline in BASELINES]))
    else:
        click.echo("  2. Mock models responded to the same items:")
    _echo_runs(_mock_runs(study, seed))
    analyze(study, folder / "results")
    click.echo("  3. Exclusions were applied, and tables, figures and the report were written.")


def _mock_runs(study: Study, seed: int) -> list[str]:
    """Write requests, write the replies of the mock models, import the replies, and describe each run."""
    folder = study.folder / "mock-models"
    folder.mkdir()
    requests = models_prompts(
        study, "csv", folder / "requests.csv", temperature=TEMPERATURES, epochs=EPOCHS
    ).requests  # fmt: skip
    files = [folder / f"{model.name}.csv" for model in MOCK_MODELS]
    for model, file in zip(MOCK_MODELS, files, strict=True):
        write_mock_replies(requests, model, file, seed)
    return models_import(study, files, map=COLUMN_MAP)


def _echo_runs(sentences: list[str]) -> None:
    for sentence in sentences:
        click.echo(f"     {sentence}")


def _fresh_folder() -> Path:
    """Return the name of a folder that does not exist yet, so that an earlier demo keeps its data."""
    folder, number = Path("equipoise-demo"), 1
    while folder.exists():
        number += 1
        folder = Path(f"equipoise-demo-{number}")
    return folder
