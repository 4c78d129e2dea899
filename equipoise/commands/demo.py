"""`equipoise demo`: the whole workflow on a sample study, from the server to the report."""

import sys
from pathlib import Path

import click

from equipoise.commands.analyze import analyze
from equipoise.commands.models.storing import add_runs
from equipoise.commands.server_process import announce, researcher_token, running_server
from equipoise.progress_bar import progress_bar
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.models.baselines import BASELINES, run_baseline
from experiment.simulated_participants import simulate
from server.serve import free_port, serve
from server.settings import read_settings

SAMPLE = "blackbox-predict"


def demo(folder: Path | str | None = None, n_participants: int = 40, seed: int = 1, keep_serving: bool = True) -> None:
    """Run a whole sample study with simulated participants and baselines, and write the report.

    Parameters
    ----------
    folder
        Folder to make; by default `equipoise-demo`. If this folder exists, a number is added to the name.
    n_participants
        Number of simulated participants.
    seed
        Seed of the participants and their responses.
    keep_serving
        True to serve the study after the report, until Ctrl-C.

    Raises
    ------
    InputError
        If the folder is not empty or cannot be made.
    """
    folder = Path(folder) if folder is not None else _fresh_folder()
    copy_sample_study(SAMPLE, folder)
    study = load_study(folder)
    click.echo(f"1. Study `{study.name}`: {len(study.test_items)} items, {study.definition.design.groups} groups.")
    with running_server(folder) as url, progress_bar("   Responding over HTTP", n_participants) as on_done:
        simulate(url, researcher_token(study), study, n_participants, seed, on_done)
    click.echo(f"2. {n_participants} simulated participants took the study over HTTP.")
    click.echo("3. Computational baselines responded to the same items:")
    for sentence in add_runs(study, [run_baseline(study, name) for name in BASELINES]):
        click.echo(f"   {sentence}")
    analyze(study, folder / "results")
    click.echo(f"4. Exclusions, tables, figures and report: {(folder / 'results' / 'report.html').resolve()}")
    if keep_serving:
        # Print the path of this command: in a new clone, the command is in .venv/bin, which is not in PATH.
        command = sys.argv[0] if Path(sys.argv[0]).stem == "equipoise" else "equipoise"
        click.echo(f"5. Take the study yourself, then run: {command} analyze {folder} -o {folder / 'results'}")
        settings = read_settings(port=free_port())
        serve(folder, settings, on_ready=lambda: announce(folder, settings))


def _fresh_folder() -> Path:
    """Return the name of a folder that does not exist yet, so that an earlier demo keeps its data."""
    folder, number = Path("equipoise-demo"), 1
    while folder.exists():
        number += 1
        folder = Path(f"equipoise-demo-{number}")
    return folder
