"""The commands about a study under way: revise its wording, exclude a session by name."""

from pathlib import Path

import click

from equipoise.cli.stores import PANEL_ID, PARTICIPANT, SESSION, STORE, STUDY

REASON = click.option(
    "--reason", required=True, help="Why, in one sentence. It is in the log and the report, so name nobody."
)


@click.command(epilog='Example: equipoise revise my-study --reason "typo in item q17"')
@STUDY
@STORE
@REASON
def revise(study: Path, store: str | None, reason: str) -> None:
    """Accept a change of wording in a study that people have begun; its version, groups and quotas stay.

    Pages, the title, own `texts` that name no answer or place, and the wording of items may change. Other changes need
    a new `version`. You answer for the meaning: nothing here can tell that new words mean something else, so read the
    changed options that are printed. Sessions under way go on with what they began with; restart the server for those
    that begin afterwards.
    """
    from equipoise.commands.study_changes import revise as accept_revision
    from experiment.study.revision import listed

    revision = accept_revision(study, reason, store)
    click.echo(f"Accepted revision {revision.revision} of version {revision.version}: {listed(revision.changed)}.")
    for option in revision.options:
        click.echo(f"  {option}")
    if revision.options:
        click.echo("The OPTIONS changed: check that each still means the same. If not, bring the old ones back.")
    if any(name.startswith("the consent") for name in revision.changed):
        click.echo("The CONSENT changed: check that your ethics board allows it. Each session keeps which text it saw.")
    click.echo("Restart the server: sessions that begin afterwards see the new wording.")


@click.command(epilog='Example: equipoise exclude my-study --session 3f0a91bc7d254e68 --reason "fire alarm"')
@STUDY
@STORE
@SESSION
@PANEL_ID
@PARTICIPANT
@REASON
@click.option("--undo", is_flag=True, help="Take back into the analysis what was excluded.")
def exclude(
    study: Path, store: str | None, session: str | None, panel_id: str | None, participant: str | None, reason: str,
    undo: bool,
) -> None:  # fmt: skip
    """Exclude a person's session from the analysis by hand; the answers stay, and another person is recruited.

    --session names one session; --panel-id and --participant mean all sessions of the person. The report has a row
    for these exclusions and states every reason.
    """
    from equipoise.commands.store_access import SessionSelector
    from equipoise.commands.study_changes import exclude as exclude_sessions

    named = SessionSelector(session, panel_id, participant)
    decided = exclude_sessions(study, named, reason, undo=undo, store=store)
    if not undo:
        for name in decided.sessions:
            click.echo(f"Session {name} is excluded. Its responses stay; its slot is free for another participant.")
        return
    for name, has_slot in zip(decided.sessions, decided.has_slot, strict=True):
        slot = (
            "it has a slot again" if has_slot else "it has no slot, as another participant has it or it was lost before"
        )
        click.echo(f"Session {name} is in the analysis again; {slot}.")
