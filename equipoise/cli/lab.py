"""The commands of the laboratory: run a session, check the machine, hand sessions on to a server."""

import sys
from pathlib import Path

import click

from equipoise.cli.stores import STORE, STUDY, warn_of_open_folder

MONITOR = click.option("--monitor", help="A monitor of PsychoPy's Monitor Center.")
SCREEN = click.option("--screen", default=0, show_default=True, type=click.IntRange(0), help="Number of the screen.")
WINDOW = click.option(
    "--window",
    "size_px",
    nargs=2,
    type=click.IntRange(400),
    metavar="WIDTH HEIGHT",
    help="Size of a window in pixels.  [default: the full screen]",
)


class _RunsByDefault(click.Group):
    """`equipoise lab STUDY` is `equipoise lab run STUDY`: what is no command's name is a study, or an option of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_of_run = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["run", *args] if is_of_run else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["run", *args])


@click.group(cls=_RunsByDefault)
def lab() -> None:
    """The laboratory: the same study in a window of PsychoPy.

    `equipoise lab STUDY --participant P01` runs a session. It needs PsychoPy: pip install 'equipoise[lab]'.
    """


@lab.command("run", epilog="Example: equipoise lab run my-study --participant P01 --group 3")
@STUDY
@STORE
@click.option("--participant", required=True, help="Your own code for the participant, such as P01.")
@click.option(
    "--session", "occasion", default=1, show_default=True, type=click.IntRange(1), help="Which of their sessions."
)
@click.option("--group", type=click.IntRange(1), help="Counterbalance group.  [default: the one whose turn it is]")
@click.option("--server", metavar="URL", help="Take the place from this server, and hand all on to it as it comes.")
@MONITOR
@SCREEN
@WINDOW
@click.option("--trigger", help="Where event codes go: serial:PORT, parallel:ADDRESS or lsl:NAME.")
@click.option("--rehearsal", is_flag=True, help="Store the answers as a simulated participant's.")
def run(
    study: Path,
    store: str | None,
    participant: str,
    occasion: int,
    group: int | None,
    server: str | None,
    monitor: str | None,
    screen: int,
    size_px: tuple[int, int] | None,
    trigger: str | None,
    rehearsal: bool,
) -> None:
    """Run a participant's session, or go on with one that was left or broke off.

    Answers go to the study's store. With --server they go to a server besides; the network keeps nobody waiting.
    """
    from batteries.errors import InputError
    from equipoise.commands.lab import Setup, run_visit
    from experiment.lab.session import Visitor
    from experiment.load_study import load_study
    from experiment.records import Kind

    visitor = Visitor(participant, occasion, group, Kind.SIMULATED if rehearsal else Kind.HUMAN)
    try:
        setup = Setup(monitor, screen, size_px, trigger)
        visit = run_visit(load_study(study), visitor, setup, store, server, lambda told: click.echo(told, err=True))
    except KeyboardInterrupt:
        raise InputError(
            f"interrupted; what {participant} has answered is stored, and the same command goes on from there."
        ) from None
    click.echo(_told(visit.outcome, participant, occasion))
    if visit.table is not None:
        click.echo(f"PsychoPy's table is {visit.table}.")
        warn_of_open_folder(visit.table.parent)
    if visit.problem is not None:
        click.echo(visit.problem, err=True)
    again = f"equipoise lab send {study} --server {server}"
    is_withdrawn = visit.outcome == "withdrawn"
    if visit.waiting_for is not None and is_withdrawn:
        why = visit.waiting_for
        click.echo(f"At the server the answers are NOT deleted yet ({why}). Have that done with: {again}", err=True)
    elif visit.waiting_for is not None:
        click.echo(
            f"Not all of it is at the server yet ({visit.waiting_for}); it is safe here. Hand it on with: {again}"
        )
    if visit.withdrawals_waiting_for is not None:
        click.echo(
            "The server may still have answers of somebody who has withdrawn, as that could not be seen to "
            f"({visit.withdrawals_waiting_for}). Have it done with: {again}",
            err=True,
        )
    sys.exit(bool(visit.withdrawals_waiting_for or (is_withdrawn and visit.waiting_for)))


def _told(outcome: str, participant: str, occasion: int) -> str:
    all_of_them = " of all their sessions" if occasion > 1 else ""
    return {
        "completed": f"{participant} has completed the session.",
        "left": f"{participant} has stopped for now; the same command goes on where it was.",
        "withdrawn": f"{participant} has left the study, and the answers{all_of_them} are deleted.",
        "declined": f"{participant} did not agree to take part; nothing was stored.",
        "ended": f"The session of {participant} has ended by the study's own rules.",
    }[outcome]


@lab.command("check", epilog="Example: equipoise lab check my-study")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@MONITOR
@SCREEN
@WINDOW
def check(study: Path | None, monitor: str | None, screen: int, size_px: tuple[int, int] | None) -> None:
    """Look whether this machine is fit for a laboratory: screen, timing, keyboard, fonts; exit code 1 if not.

    With STUDY, whether there is a font for all its letters is looked at too.
    """
    from equipoise.commands.lab import Setup, check_laboratory
    from experiment.load_study import load_study

    told, is_fit = check_laboratory(load_study(study) if study else None, Setup(monitor, screen, size_px, None))
    click.echo(told)
    sys.exit(not is_fit)


@lab.command("send", epilog="Example: equipoise lab send my-study --server https://study.example.org")
@STUDY
@STORE
@click.option("--server", metavar="URL", help="Server that gets the sessions.")
@click.option("--into", metavar="STORE", help="Store that gets them: a file or postgresql://...")
@click.option("--prefix", default="", help="Put before the participants' codes there, such as B-, if codes collide.")
def send(study: Path, store: str | None, server: str | None, into: str | None, prefix: str) -> None:
    """Hand the laboratory sessions of a store on to a server, or to another store; nothing comes there twice.

    What participants have withdrawn there is deleted here too.
    """
    from batteries.errors import InputError
    from equipoise.commands.lab import send_sessions
    from experiment.load_study import load_study

    if (server is None) == (into is None):
        raise InputError("name where the sessions go, with --server or with --into.")
    handed_on = send_sessions(load_study(study), store, server, into, prefix)
    click.echo(f"Laboratory sessions there: {handed_on.n_sessions:,}; answers that were new: {handed_on.n_new:,}.")
    if handed_on.n_withdrawn:
        click.echo(f"Withdrawn there, and so deleted here too: {handed_on.n_withdrawn:,}.")
    for version, n in handed_on.n_of_other_versions.items():
        click.echo(f"Version {version}, not looked at: {n:,}. Hand them on from the folder of that version.", err=True)
    if handed_on.n_without_code:
        click.echo(
            f"Not handed on, as the participants' codes were deleted here: {handed_on.n_without_code:,}. If they are "
            "wanted elsewhere, copy the whole store with `equipoise store copy`.",
            err=True,
        )
    if handed_on.excluded:
        click.echo(
            f"Excluded here, which is not handed on: {', '.join(handed_on.excluded)}. "
            "Exclude them there too with `equipoise exclude`.",
            err=True,
        )
    for sentence in handed_on.refused:
        click.echo(f"Not taken, and kept here: {sentence}", err=True)
    if handed_on.problem is not None:
        click.echo(handed_on.problem, err=True)
    sys.exit(bool(handed_on.refused or handed_on.problem))
