"""The laboratory's commands: run a session, check the machine, upload sessions to a server."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from equipoise.cli.stores import STORE, STUDY, warn_of_open_folder

if TYPE_CHECKING:
    from equipoise.commands.lab.check import Setup
    from equipoise.commands.lab.run import LabVisit
    from equipoise.commands.lab.upload import UploadResult
    from experiment.lab.photodiode.flashes import Patch
    from experiment.lab.visitor import Visitor

BOX = click.option(
    "--box",
    metavar="BOX",
    help="Response box with the key of each button: keys:a=1,b=2, serial:PORT,a=1,b=2 or cedrus,1=f,2=j.",
)
TRIGGER_HELP = "Destination of event codes: serial:PORT, parallel:ADDRESS, lsl:NAME or log:FILE."


class _RunsByDefault(click.Group):
    """Group of commands. `equipoise lab STUDY` is short for `equipoise lab run STUDY`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_of_run = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["run", *args] if is_of_run else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["run", *args])


def _with_visitor(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that identify a participant's session. The command receives the options as one `Visitor`.

    Without `--participant`, it receives None.
    """

    @click.option(
        "--participant",
        help="Participant code of your choice, such as P01.  [default: a dialog in the window asks for it]",
    )
    @click.option(
        "--session-number",
        type=click.IntRange(1),
        help="Session number: 1 for the participant's first session.  [default: 1]",
    )
    @click.option("--occasion", "--session", "former_number", type=click.IntRange(1), hidden=True)  # Former names.
    @click.option(
        "--group",
        type=click.IntRange(1),
        help="Counterbalance group.  [default: one that the participant has not had, with the fewest participants]",
    )
    @click.option("--rehearsal", is_flag=True, help="Store the responses as responses of a simulated participant.")
    @wraps(command)
    def with_options(
        participant: str | None,
        session_number: int | None,
        former_number: int | None,
        group: int | None,
        rehearsal: bool,
        **others: Any,
    ) -> None:
        from batteries.errors import InputError
        from experiment.lab.visitor import Visitor
        from experiment.records import Kind

        session_number = session_number or former_number
        if participant is not None:
            kind = Kind.SIMULATED if rehearsal else Kind.HUMAN
            command(visitor=Visitor(participant, session_number or 1, group, kind), **others)
        elif session_number is not None or group is not None or rehearsal:
            raise InputError(
                "--session-number, --group and --rehearsal need a participant. Fix: add --participant, or omit these "
                "options and choose them in the dialog."
            )
        else:
            command(visitor=None, **others)

    return with_options


def _with_setup(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the machine. The command receives the options as one `Setup`."""

    @click.option("--monitor", help="Name of a monitor in PsychoPy's Monitor Center.")
    @click.option("--screen", default=0, show_default=True, type=click.IntRange(0), help="Screen number, from 0.")
    @click.option(
        "--window",
        "size_px",
        nargs=2,
        type=click.IntRange(400),
        metavar="WIDTH HEIGHT",
        help="Size of a window in pixels.  [default: the full screen]",
    )
    @click.option("--windowed", is_flag=True, help="Open a window of 1280 x 800 pixels, or less on a small screen.")
    @wraps(command)
    def with_options(
        monitor: str | None,
        screen: int,
        size_px: tuple[int, int] | Literal["windowed"] | None,
        windowed: bool,
        trigger: str | None = None,
        scanner: str | None = None,
        box: str | None = None,
        eye_tracker: str | None = None,
        require_frames: bool = False,
        require_ptb: bool = False,
        **others: Any,
    ) -> None:
        from batteries.errors import InputError
        from equipoise.commands.lab.check import Setup

        if windowed:
            if size_px is not None:
                raise InputError("--window and --windowed: both name a size. Fix: omit one of them.")
            size_px = "windowed"
        machine = Setup(monitor, screen, size_px, trigger, scanner, box, eye_tracker, require_frames, require_ptb)
        command(setup=machine, **others)

    return with_options


@click.group(cls=_RunsByDefault)
def lab() -> None:
    """Run a study in the laboratory, in a PsychoPy window.

    `equipoise lab STUDY` asks for the participant and runs a session. To install PsychoPy, run `pip install ".[lab]"`
    in a clone of the repository of Equipoise.
    """


@lab.command("run", epilog="Example: equipoise lab run my-study --participant P01 --group 3")
@STUDY
@STORE
@_with_visitor
@click.option(
    "--server",
    metavar="URL",
    help="Reserve the participant's slot on this server, and upload the responses during the session.",
)
@click.option("--trigger", help=TRIGGER_HELP)
@click.option(
    "--scanner",
    metavar="KEY",
    help="Wait for the pulse of an MRI scanner, which presses this key. KEY,discard=N discards the first N pulses.",
)
@BOX
@click.option(
    "--eye-tracker",
    metavar="mouse|FILE",
    help="Record an eye tracker: mouse for a simulation, or a YAML file with ioHub's settings of an eye tracker.",
)
@click.option("--require-frames", is_flag=True, help="Refuse the session if flips do not wait for the screen.")
@click.option("--require-ptb", is_flag=True, help="Refuse the session if psychtoolbox does not read the keyboard.")
@_with_setup
def run(study: Path, store: str | None, visitor: "Visitor | None", server: str | None, setup: "Setup") -> None:
    """Run a participant's session, or resume an interrupted session.

    Without --participant, a dialog in the window asks the experimenter for the participant.

    Responses are stored in the study's store. With --server, the responses are also uploaded during the session; the
    session never waits for the network.

    Before and after the session, the command reports the timing. If the timing is degraded, this report is a warning.
    """
    from batteries.errors import InputError
    from equipoise.commands.lab.run import lab_run

    has_status = False

    def warn(sentence: str) -> None:
        click.echo(sentence, err=True)

    def may_begin() -> bool:
        """Ask the experimenter on a terminal. A script cannot answer, so the session begins."""
        return not sys.stdin.isatty() or click.confirm("Begin this session?", default=False, err=True)

    def show_status(sentence: str) -> None:
        """Replace the line of the trial before."""
        nonlocal has_status
        has_status = True
        click.echo(f"\r\x1b[K{sentence}", nl=False, err=True)

    try:
        visit = lab_run(
            study,
            visitor,
            setup,
            server,
            store,
            warn,
            may_begin,
            click.echo,
            show_status if sys.stderr.isatty() else None,
        )
    except KeyboardInterrupt:
        whose = f" of {visitor.participant}" if visitor else ""
        raise InputError(
            f"the session was interrupted; the responses{whose} are stored. Fix: run the same command to resume the "
            "session."
        ) from None
    finally:
        if has_status:
            click.echo(err=True)  # Ends the line of the last trial.
    click.echo(_outcome_sentence(visit.outcome, visit.visitor))
    if visit.table is not None:
        click.echo(f"PsychoPy's table: {visit.table}")
        warn_of_open_folder(visit.table.parent)
    if visit.eye_file is not None:
        click.echo(f"Data of the eye tracker: {visit.eye_file}")
    _report_timing(visit)
    if visit.n_early_pulses:
        click.echo(
            f"WARNING: pulses of the scanner before the program waited for it: {visit.n_early_pulses:,}. So the "
            "trials did not begin with the first volume. The row `scanner_start` of the table of events has the time.",
            err=True,
        )
    if visit.problem is not None:
        click.echo(visit.problem, err=True)
    sys.exit(_report_upload(visit, f"equipoise lab upload {study} --server {server}"))


def _outcome_sentence(outcome: str, visitor: "Visitor") -> str:
    who = visitor.participant
    of_all = " of all their sessions" if visitor.session_number > 1 else ""
    return {
        "completed": f"{who} completed the session.",
        "left": f"{who} stopped for now. Run the same command to resume the session.",
        "withdrawn": f"{who} withdrew; the responses{of_all} are deleted.",
        "declined": f"{who} did not consent; nothing was stored.",
        "ended": f"The session of {who} was ended by the study's rules.",
    }[outcome]


def _report_timing(visit: "LabVisit") -> None:
    """Print the timing of the visit's trials. If the timing is degraded, print it as a warning."""
    from experiment.lab.timing_summary import after_the_visit

    machine, trials = visit.machine_timing, visit.trial_timing
    if trials is not None:
        click.echo(after_the_visit(machine, trials), err=machine.is_degraded or trials.has_problems)


def _report_upload(visit: "LabVisit", command: str) -> bool:
    """Print a message if the upload is incomplete.

    Return True if the server still has responses of a withdrawn participant.
    """
    is_withdrawn = visit.outcome == "withdrawn"
    if visit.waiting_for is not None and is_withdrawn:
        click.echo(
            f"The responses on the server are NOT deleted yet ({visit.waiting_for}). Fix: run {command}", err=True
        )
    elif visit.waiting_for is not None:
        click.echo(
            f"The upload is not complete ({visit.waiting_for}). Everything is stored on this machine. "
            f"Fix: run {command}"
        )
    if visit.withdrawals_waiting_for is not None:
        click.echo(
            "The server may still have responses of a participant who withdrew "
            f"({visit.withdrawals_waiting_for}). Fix: run {command}",
            err=True,
        )
    return bool(visit.withdrawals_waiting_for or (is_withdrawn and visit.waiting_for))


@lab.command("check", epilog="Example: equipoise lab check my-study")
@click.argument("study", type=click.Path(path_type=Path), required=False)
@BOX
@_with_setup
def check(study: Path | None, setup: "Setup") -> None:
    """Check the screen, timing, keyboard and fonts of this machine. The exit code is 1 if the machine cannot be used.

    With STUDY, also check whether a font has all characters of the study, and whether the screen is large enough. With
    --box, press each button of the response box once; the command prints its key and its time.
    """
    from equipoise.commands.lab.check import lab_check

    report, is_usable = lab_check(study, setup, click.echo)
    click.echo(report)
    sys.exit(not is_usable)


@lab.command("codes", epilog="Example: equipoise lab codes my-study --trigger serial:/dev/ttyUSB0")
@STUDY
@click.option("--trigger", help=f"{TRIGGER_HELP} Send each code once, two codes in a second.")
def codes(study: Path, trigger: str | None) -> None:
    """List the event codes of a study as CSV. With --trigger, also send each code once to the recording device.

    The codes are those that `event_codes` in study.yaml defines.
    """
    from equipoise.commands.lab.codes import lab_codes, rehearse_codes

    if trigger is None:
        click.echo(lab_codes(study), nl=False)
        return
    n_codes = rehearse_codes(study, trigger, click.echo)
    click.echo(f"Codes sent: {n_codes:,}. Compare them with the recording.")


@lab.command("flashes", epilog="Example: equipoise lab flashes --trigger serial:/dev/ttyUSB0 -o flashes.csv")
@click.option("-n", "--flashes", "n", default=200, show_default=True, type=click.IntRange(3), help="Number of flashes.")
@click.option(
    "--black-ms",
    default=500,
    show_default=True,
    type=click.IntRange(50, 10_000),
    help="Shortest black before each flash, in ms. Each black lasts up to 20 % longer.",
)
@click.option(
    "--white-ms", default=100, show_default=True, type=click.IntRange(1, 5_000), help="Duration of each flash, in ms."
)
@click.option(
    "--patch",
    default="full",
    show_default=True,
    type=click.Choice(("full", "center", "top-left", "top-right", "bottom-left", "bottom-right")),
    help="Place of the white patch.",
)
@click.option("--trigger", help=TRIGGER_HELP)
@click.option("--code", default=1, show_default=True, type=click.IntRange(1), help="Event code of each onset.")
@click.option(
    "-o", "output", required=True, type=click.Path(path_type=Path), help="CSV file with the timing of the flashes."
)
@_with_setup
def flashes(n: int, black_ms: int, white_ms: int, patch: "Patch", code: int, output: Path, setup: "Setup") -> None:
    """Show flashes for a photodiode on the screen, in the same way as the stimuli of trials.

    Record the photodiode during the flashes. Then analyze the recording with `equipoise lab photodiode`. Escape ends
    the flashes.
    """
    from equipoise.commands.lab.photodiode import lab_flashes
    from experiment.lab.photodiode.flashes import FlashSeries

    n_shown = lab_flashes(output, setup, FlashSeries(n, black_ms, white_ms, patch, code))
    click.echo(f"Flashes shown: {n_shown:,} of {n:,}. Their timing: {output}")


@lab.command("photodiode", epilog="Example: equipoise lab photodiode scope.csv --flashes flashes.csv -o screen")
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "--flashes",
    "shown",
    type=click.Path(path_type=Path),
    help="File of `equipoise lab flashes`, for the intended durations and for recordings without a trigger.",
)
@click.option(
    "--rate-hz",
    type=float,
    metavar="NUMBER",
    help="Samples per second of a CSV file without a column of times.",
)
@click.option(
    "-o", "output", type=click.Path(path_type=Path), help="Folder for a table of all flashes and for the figure."
)
def photodiode(recording: Path, shown: Path | None, rate_hz: float | None, output: Path | None) -> None:
    """Measure the delay of the screen and the durations of flashes in the recording of a photodiode.

    RECORDING is a CSV file with the columns time in s, photodiode and trigger (the trigger can be omitted), or a WAV
    file with the photodiode on the left channel and the trigger on the right channel.
    """
    from equipoise.commands.lab.photodiode import lab_photodiode

    click.echo(lab_photodiode(recording, shown, rate_hz, output))


@lab.command("upload", epilog="Example: equipoise lab upload my-study --server https://study.example.org")
@STUDY
@STORE
@click.option("--server", metavar="URL", help="Address of the server that receives the sessions.")
@click.option("--into", metavar="STORE", help="Store that receives the sessions: a file or postgresql://...")
@click.option(
    "--prefix",
    default="",
    help="Prefix for each participant code, such as B-, if two laboratories use the same codes.",
)
def upload(study: Path, store: str | None, server: str | None, into: str | None, prefix: str) -> None:
    """Upload the laboratory sessions of a store to a server, or to another store; nothing is stored twice.

    If a participant has withdrawn on the server or in the other store, their responses on this machine are deleted
    too.
    """
    from equipoise.commands.lab.upload import lab_upload

    result = lab_upload(study, server, into, prefix, store)
    _print_result(result)
    sys.exit(bool(result.refused or result.problem))


def _print_result(result: "UploadResult") -> None:
    click.echo(f"Uploaded laboratory sessions: {result.n_sessions:,}; new responses: {result.n_new:,}.")
    if result.n_withdrawn:
        click.echo(f"Sessions withdrawn on the server, and now deleted on this machine too: {result.n_withdrawn:,}.")
    for version, n in result.n_of_other_versions.items():
        click.echo(
            f"Sessions of version {version} that were not uploaded: {n:,}. Fix: upload these sessions from the folder "
            f"of version {version}.",
            err=True,
        )
    if result.n_without_code:
        click.echo(
            f"Sessions that were not uploaded, because their participant code was deleted: {result.n_without_code:,}. "
            "Fix: copy the complete store with `equipoise store copy`.",
            err=True,
        )
    if result.excluded:
        click.echo(
            f"Sessions that are excluded on this machine: {', '.join(result.excluded)}. An exclusion is not uploaded. "
            "Fix: exclude these sessions on the server too, with `equipoise exclude`.",
            err=True,
        )
    for sentence in result.refused:
        click.echo(f"Session refused by the server, and kept on this machine: {sentence}", err=True)
    if result.problem is not None:
        click.echo(result.problem, err=True)


@lab.command("send", hidden=True, epilog="Example: equipoise lab send my-study --server https://study.example.org")
@click.pass_context
@STUDY
@STORE
@click.option("--server")
@click.option("--into")
@click.option("--prefix", default="")
def send(context: click.Context, /, **options: Any) -> None:
    """Run `upload` under its former name."""
    click.echo("`equipoise lab send` is now called `equipoise lab upload`.", err=True)
    context.invoke(upload, **options)
