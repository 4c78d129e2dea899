"""The command line. Each command calls the function of the public API with the same name."""

import gc
import io
import json
import shutil
import sys
import warnings
from pathlib import Path

import click

from batteries.errors import InputError
from equipoise.cli.analysis import analyze, audit, power
from equipoise.cli.battery import battery
from equipoise.cli.coding import coding
from equipoise.cli.exports import export, import_data
from equipoise.cli.lab import lab
from equipoise.cli.models import models
from equipoise.cli.recruit import recruit
from equipoise.cli.researchers import researchers
from equipoise.cli.stores import PANEL_ID, PARTICIPANT, SESSION, STORE, STUDY, assignment, identities, links, store
from equipoise.cli.study_changes import exclude, revise
from equipoise.studies import sample_studies


class _BadInput(click.ClickException):
    exit_code = 2


class _Commands(click.Group):
    """Group of commands. After a mistake in the input, a command prints an error and ends with exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise _BadInput(str(error)) from None
        except UnicodeEncodeError:
            raise _BadInput(
                "the output of this command has a character that the terminal's encoding does not have. Fix: set the "
                "terminal's encoding to UTF-8."
            ) from None


def _print_warning(message: Warning | str, category: type[Warning], *where: object, **options: object) -> None:
    """Print a warning for the researcher as a sentence, and a warning for programmers in Python's usual form."""
    if issubclass(category, FutureWarning):
        click.echo(f"Warning: {message}", err=True)
    else:
        _show_warning(message, category, *where, **options)  # type: ignore[arg-type]


_show_warning = warnings.showwarning


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="equipoise")
def main() -> None:
    """One battery of questions for people and language models, and one analysis that compares them fairly.

    Start with `equipoise demo`, which runs two sample studies with simulated participants.
    """
    warnings.showwarning = _print_warning
    gc.set_threshold(
        50_000
    )  # With Python's 700 objects, the garbage collector takes a tenth of the time of an analysis.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # A title in another script must not stop a command on an old console.


@main.command(epilog="Example: equipoise demo --no-serve")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Folder to make.  [default: equipoise-demo]")
@click.option(
    "-n",
    "n_participants",
    default=40,
    show_default=True,
    type=click.IntRange(1),
    help="Number of simulated participants in each study.",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of all responses and replies.")
@click.option("--no-serve", is_flag=True, help="Exit after the reports instead of serving a study.")
def demo(folder: Path | None, n_participants: int, seed: int, no_serve: bool) -> None:
    """Run two sample studies with simulated participants, baselines and mock models, and write the reports.

    A mock model is a small program that replaces a language model.
    """
    from equipoise.commands.demo import demo as run_demo

    run_demo(folder, n_participants, seed, keep_serving=not no_serve)


@main.command(epilog="Example: equipoise new my-study --from blackbox-predict")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--from", "sample", default="blackbox-predict", show_default=True, help="Sample study to copy.")
def new(folder: Path, sample: str) -> None:
    """Make a new study folder as a copy of a sample study."""
    from equipoise.commands.new import new as make_study

    make_study(folder, sample)
    click.echo(f"Made {folder}. Edit {folder / 'study.yaml'} and the texts, then run: equipoise check {folder}")


@main.command(epilog="Example: equipoise check my-study")
@STUDY
@STORE
@click.option(
    "--browser/--no-browser",
    default=True,
    show_default=True,
    help="Let simulated participants take the study in a browser, which takes a few minutes.",
)
def check(study: Path, store: str | None, browser: bool) -> None:
    """Check a study before launch, and print a checklist. The exit code is 1 if a point failed.

    The command changes neither the study's folder nor its store.
    """
    from equipoise.commands.check.check import check as check_study

    checklist = check_study(study, store, browser)
    click.echo(checklist.text(min(shutil.get_terminal_size().columns, 100)))
    if checklist.has_failed:
        sys.exit(1)


@main.command(epilog="Example: equipoise serve my-study --port 8000")
@STUDY
@STORE
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1, this machine only]")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.  [default: 8000]")
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Number of server processes; more than one needs PostgreSQL.  [default: 1]",
)
@click.option(
    "--proxies", type=click.IntRange(0), help="Number of reverse proxies in front of the server.  [default: 0]"
)
@click.option("--quiet", is_flag=True, help="Print the log only, without the addresses of the pages.")
def serve(
    study: Path, store: str | None, host: str | None, port: int | None, processes: int | None, proxies: int | None,
    quiet: bool,
) -> None:  # fmt: skip
    """Serve a study to participants, and the progress page to the researcher. Press Ctrl-C to stop.

    Each option except --quiet can also be set by an environment variable. docs/reference/settings.md lists these
    variables and further settings.
    """
    from equipoise.commands.server_process import serve as serve_until_stopped

    serve_until_stopped(study, store=store, host=host, port=port, processes=processes, proxies=proxies, quiet=quiet)


@main.command(epilog="Example: equipoise simulate my-study -n 54 --seed 7")
@STUDY
@STORE
@click.option(
    "-n", "n_participants", required=True, type=click.IntRange(1, 100_000), help="Number of simulated participants."
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of the participants and their responses."
)
def simulate(study: Path, store: str | None, n_participants: int, seed: int) -> None:
    """Simulate participants who respond to a study over HTTP.

    The store marks their responses as simulated, and keeps all earlier responses.
    """
    from equipoise.commands.server_process import simulate as simulate_participants

    location = simulate_participants(study, n_participants, seed, store)
    click.echo(f"{n_participants} simulated participants took the study; their responses are in {location}.")


@main.command(epilog="Example: equipoise withdraw my-study --code 3F0A91BC42")
@STUDY
@STORE
@click.option("--code", help="The withdrawal code that the participant received at the end of the session.")
@SESSION
@PANEL_ID
@PARTICIPANT
def withdraw(
    study: Path,
    store: str | None,
    code: str | None,
    session: str | None,
    panel_id: str | None,
    participant: str | None,
) -> None:
    """Delete the responses of a participant who asks for the deletion, in the store and in the laboratory's files.

    Identify the participant by one of --code, --session, --panel-id and --participant.
    """
    from equipoise.commands.store.withdraw import withdraw as delete_responses

    kept = delete_responses(study, code, session=session, panel_id=panel_id, participant=participant, store=store)
    click.echo("The responses of this participant are deleted; their sessions count as withdrawn.")
    for trace in kept:
        click.echo(trace, err=True)


@main.command("jspsych-plugins", epilog="Example: equipoise jspsych-plugins -o my-experiment/equipoise")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the copies.")
def jspsych_plugins(output: Path) -> None:
    """Copy the jsPsych plugins of Equipoise and their stylesheet, for use in another jsPsych experiment."""
    from equipoise.commands.jspsych_plugins import FILES
    from equipoise.commands.jspsych_plugins import jspsych_plugins as copy_plugins

    copy_plugins(output)
    click.echo(f"Copied {' and '.join(FILES)} to {output}.")


@main.command(epilog="Example: equipoise schema study > study.schema.json")
@click.argument("what", type=click.Choice(["study", "plan", "item", "spec"]))
def schema(what: str) -> None:
    """Print the JSON Schema of a kind of file: study.yaml, an analysis plan, an item of a battery, or SPEC.yaml."""
    from equipoise.commands.new import schema as schema_of

    click.echo(json.dumps(schema_of(what), indent=2, ensure_ascii=False))


for imported_command in (
    battery, store, assignment, researchers, identities, links, recruit, models, revise, exclude, lab, coding, analyze,
    audit, power, export, import_data,
):  # fmt: skip
    main.add_command(imported_command)

new.help = f"{new.help} The sample studies are {', '.join(sample_studies())}."
