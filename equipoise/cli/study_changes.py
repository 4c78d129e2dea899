"""The commands for a study that has sessions: revise the wording, and exclude a session."""

from pathlib import Path

import click

from equipoise.cli.stores import PANEL_ID, PARTICIPANT, SESSION, STORE, STUDY

REASON = click.option(
    "--reason",
    required=True,
    help="Reason, in one sentence. The log and the report print the reason, so it must not identify a person.",
)


@click.command(epilog='Example: equipoise revise my-study --reason "typo in item q17"')
@STUDY
@STORE
@REASON
def revise(study: Path, store: str | None, reason: str) -> None:
    """Accept new wording in a study that has sessions. The version, groups and quotas of the study stay the same.

    You may change pages, the title, the wording of items, and `texts` that do not label responses or positions on the
    board. For all other changes, the study needs a new `version`. Equipoise cannot check the meaning of new words, so
    read the changed options that this command prints. Then restart the server. Sessions under way keep the old wording
    of items, breaks and debrief. Sessions that begin later have the new wording.
    """
    from equipoise.commands.store.study_changes import revise as accept_revision
    from experiment.study.revision import listed

    revision = accept_revision(study, reason, store)
    click.echo(f"Accepted revision {revision.revision} of version {revision.version}: {listed(revision.changed)}.")
    for option in revision.options:
        click.echo(f"  {option}")
    if revision.options:
        click.echo(
            "The OPTIONS changed: check that each option still has the same meaning. If not, restore the old options."
        )
    if any(name.startswith("the consent") for name in revision.changed):
        click.echo(
            "The CONSENT changed: check that your ethics board allows the new text. Each session records which text "
            "its participant saw."
        )
    click.echo("Restart the server: sessions that begin afterwards have the new wording.")


@click.command(epilog='Example: equipoise exclude my-study --session 3f0a91bc7d254e68 --reason "fire alarm"')
@STUDY
@STORE
@SESSION
@PANEL_ID
@PARTICIPANT
@REASON
@click.option("--undo", is_flag=True, help="Include excluded sessions in the analysis again.")
def exclude(
    study: Path, store: str | None, session: str | None, panel_id: str | None, participant: str | None, reason: str,
    undo: bool,
) -> None:  # fmt: skip
    """Exclude a participant's session from the analysis. The responses stay, and the slot is released.

    --session selects one session. --panel-id and --participant select all sessions of the participant. The report has a
    row for these exclusions, and states every reason.
    """
    from equipoise.commands.store.study_changes import exclude as exclude_sessions

    decided = exclude_sessions(
        study, reason, session=session, panel_id=panel_id, participant=participant, undo=undo, store=store
    )
    if not undo:
        for name in decided.sessions:
            click.echo(f"Session {name} is excluded. The responses stay; the slot is free for another participant.")
        return
    for name, has_slot in zip(decided.sessions, decided.has_slot, strict=True):
        slot = (
            "it has a slot again"
            if has_slot
            else "it has no slot: another participant has the slot, or the slot was released before the exclusion"
        )
        click.echo(f"Session {name} is in the analysis again; {slot}.")
