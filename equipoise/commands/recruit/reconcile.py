"""`equipoise recruit reconcile`: compare the panel's export with the store, and release slots."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.recruit.panel_sessions import panel_sessions
from equipoise.commands.store_access import (
    StoreAddress,
    StudyFolder,
    loaded,
    note_access,
    store_of,
    warn_of_changes,
    write_private_csv,
)
from experiment.study.definition import Study
from server.recruitment.reconcile import IN_WORDS, Match, SessionHere, counted, reconcile
from server.recruitment.submissions import Submission, panel_named, read_submissions
from server.store import Access, Release

COLUMNS = (
    "finding", "panel_id", "submission", "panel_status", "panel_code", "participant", "session", "status", "slot",
    "slot_released_for", "failed_checks",
)  # fmt: skip


@dataclass(frozen=True)
class Reconciled:
    """Result of comparing a panel's submissions with the store."""

    matches: tuple[Match, ...]
    n_released: Mapping[Release, int]
    """Number of slots that were released now, by reason."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of submissions and sessions with each finding."""
        return {finding.value: n for finding, n in counted(self.matches)}

    def sentences(self) -> list[str]:
        """Return the numbers in words, one sentence for each finding and each reason of a release."""
        found = [f"{IN_WORDS[finding]}: {n:,}." for finding, n in counted(self.matches)]
        words = {Release.TIME_OUT: "timed-out", Release.RETURN: "returned"}
        released = [
            f"Slots released because of {words[reason]} submissions: {n:,}."
            for reason, n in self.n_released.items()
            if n
        ]
        return [*(found or ["The export has no submissions, and the store has no sessions."]), *released]


def recruit_reconcile(
    study: StudyFolder,
    export: Path | str,
    *,
    output: Path | str,
    panel: str = "prolific",
    column: Iterable[str] = (),
    store: StoreAddress | None = None,
) -> Reconciled:
    """Compare a panel's export with the store, write the result, and release slots.

    The slots of returned and timed-out submissions are released, because the panel gives their places to other
    participants. The responses stay.

    Parameters
    ----------
    study
        The study or its folder.
    export
        The panel's list of submissions, .csv.
    output
        File to write, .csv, with one row for each submission and one for each session without a submission. Only the
        owner of the file can read it.
    panel
        `prolific`, `sona` or `cloudresearch`.
    column
        Names of columns in the export, such as `id=Survey Code`, for `id`, `submission`, `status` and `code`.
    store
        The store; by default the store in the settings.

    Returns
    -------
    Reconciled
        The matches, and the number of released slots.

    Raises
    ------
    InputError
        If the export is not one of this panel, or the study has no panel.
    """
    study = loaded(study)
    if study.definition.recruitment.entry != "panel":
        raise InputError(
            f"{study.folder / 'study.yaml'}: the study has no panel. Fix: write `recruitment: {{entry: panel}}` in "
            "this file."
        )
    submissions = read_submissions(Path(export), panel_named(panel), _named_columns(column))
    with store_of(study, store, must_exist=True) as opened:
        warn_of_changes(study, opened)
        matches = match_with(study, panel_sessions(opened, study), submissions)
        # The file is written first: if it cannot be written, no slot is released.
        write_private_csv(output, COLUMNS, [_row(match) for match in matches])
        n_released = dict.fromkeys((Release.TIME_OUT, Release.RETURN), 0)
        for match in matches:
            if match.must_release is not None and match.session is not None:
                n_released[match.must_release] += opened.release_slot(match.session.session, match.must_release)
        note_access(opened, study, Access.EXPORTED, what="reconciliation", number=len(matches))
    return Reconciled(tuple(matches), n_released)


def match_with(study: Study, sessions: Sequence[SessionHere], submissions: Sequence[Submission]) -> list[Match]:
    """Match a panel's submissions with the sessions of its participants."""
    pattern, exits = study.definition.recruitment.id_pattern, study.definition.recruitment.exits
    early_codes = {one.code for one in (exits.no_consent, exits.incompatible_device) if one.code is not None}
    return reconcile(submissions, sessions, lambda text: bool(pattern.fullmatch(text)), early_codes)


def _named_columns(columns: Iterable[str]) -> dict[str, str]:
    named = {}
    for one in [columns] if isinstance(columns, str) else columns:
        name, sign, title = one.partition("=")
        if not sign or not title.strip():
            raise InputError(f"--column {one}: the name of the column is missing. Fix: write `id=Survey Code`.")
        named[name.strip()] = title.strip()
    return named


def _row(match: Match) -> list[object]:
    one, here = match.submission, match.session
    panel_id = one.external_id if one else here.external_id if here else ""
    return [
        match.finding.value,
        panel_id,
        one.submission if one else None,
        one.status.value if one else None,
        one.code if one else None,
        here.participant if here else None,
        here.session if here else None,
        here.status.value if here else None,
        here.slot.value if here else None,
        match.must_release,
        here.n_failed_checks if here else None,
    ]
