"""`equipoise recruit bonus`: pay bonuses at Prolific, each at most once."""

import csv
import io
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import unguarded, write_rows
from batteries.files.file_reading import read_text
from equipoise.commands.recruit.at_prolific import submissions_at_prolific
from equipoise.commands.recruit.panel_sessions import panel_sessions
from equipoise.commands.recruit.reconcile import match_with
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, note_access, store_of, warn_of_changes
from equipoise.progress_bar import progress_bar
from experiment.study.definition import Study
from server.recruitment.prolific_api import ProlificApi, Refused, has_token, in_major_units, prolific_api
from server.recruitment.prolific_study import prolific_settings
from server.recruitment.reconcile import Finding, Match, SessionHere
from server.store import Access, Payment, PaymentState, Store
from server.store.models import REVIEW

MOST_LINES = 200
"""Largest number of bonuses in one of Prolific's lists."""
_AMOUNT = re.compile(r"[0-9]{1,4}(\.[0-9]{1,2})?")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,59}")


@dataclass(frozen=True)
class Bonus:
    """A bonus of one participant."""

    session: SessionHere
    cents: int


@dataclass(frozen=True)
class BonusesPaid:
    """Result of `recruit bonus`."""

    bonuses: tuple[Bonus, ...]
    """The bonuses that are not paid yet."""
    currency: str
    is_dry_run: bool
    n_paid: int = 0
    """Number of bonuses that were paid now."""
    n_paid_before: int = 0
    """Number of bonuses with this label that were paid before."""
    n_other_label: int = 0
    """Number of unpaid bonuses whose participants got a bonus with another label before."""
    unknown: tuple[Bonus, ...] = ()
    """Bonuses of an earlier command whose outcome is unknown. They are not sent again."""
    not_by_us: tuple[Bonus, ...] = ()
    """Bonuses that are not sent, because Prolific lists a bonus of this participant that the store does not know."""
    not_there: tuple[Bonus, ...] = ()
    """Bonuses of participants who have no submission at Prolific."""

    def sentences(self) -> list[str]:
        """Return the result in words."""
        total = f"{in_major_units(sum(bonus.cents for bonus in self.bonuses))} {self.currency}"
        n = len(self.bonuses)
        lines = [
            f"Dry run: {n:,} {_noun(n)} of {total} in total would be paid, and nothing was sent. To pay, add --yes."
            if self.is_dry_run
            else f"{self.n_paid:,} {_noun(self.n_paid)} of {total} in total paid."
        ]
        if self.n_paid_before:
            lines.append(f"{self.n_paid_before:,} {_noun(self.n_paid_before)} with this label paid before.")
        if self.n_other_label:
            lines.append(f"Participants of this list with an earlier bonus of another label: {self.n_other_label:,}.")
        for left, why in (
            (self.unknown, "the outcome of an earlier request is unknown. Look at Prolific's page. If a bonus is not "
             "there after a day, pay it on that page. This command never sends it again"),
            (self.not_by_us, "Prolific lists a bonus that was not paid with this store. If you want to pay another "
             "bonus, pay it on Prolific's page"),
            (self.not_there, "the participant has no submission in your studies at Prolific"),
        ):  # fmt: skip
            if left:
                ids = ", ".join(bonus.session.external_id for bonus in left[:5]) + (", ..." if len(left) > 5 else "")
                lines.append(f"{len(left):,} {_noun(len(left))} not sent: {why} ({ids}).")
        return lines


def _noun(n: int) -> str:
    return "bonus" if n == 1 else "bonuses"


def recruit_bonus(
    study: StudyFolder,
    bonuses: Path | str,
    *,
    label: str,
    output: Path | str | None = None,
    yes: bool = False,
    store: StoreAddress | None = None,
) -> BonusesPaid:
    """Pay bonuses at Prolific. Without `yes`, send nothing.

    A participant gets at most one bonus with the same label, even if the command is killed, if Prolific's reply is
    lost, or if two commands run at the same time.

    Parameters
    ----------
    study
        The study or its folder.
    bonuses
        File with one line per participant, `PARTICIPANT,4.25`, without a header. The participant is a panel id or a
        pseudonym. The amount is in pounds or dollars.
    label
        Name of this bonus, such as `accuracy`, for your records. Capital letters make no difference.
    output
        File to write with the unpaid bonuses, in the form of Prolific's page, .csv. If there are more than 200 bonuses,
        several files are written, and their names have a number. Only their owner can read the files.
    yes
        True to pay.
    store
        The store; by default the store in the settings.

    Returns
    -------
    BonusesPaid
        The bonuses that were paid or would be paid, and the bonuses that were not sent.

    Raises
    ------
    InputError
        If a line of the file is wrong, if Prolific cannot be reached, or if the outcome of a request is unknown.
    """
    study = loaded(study)
    currency = prolific_settings(study).currency
    if not _LABEL.fullmatch(label):
        raise InputError(f"--label {label!r}: invalid label. Fix: write letters, digits and spaces, such as accuracy.")
    purpose = f"bonus {' '.join(label.lower().split())}"
    uses_api = yes or has_token()
    with store_of(study, store, must_exist=True) as opened, prolific_api() if uses_api else nullcontext() as api:
        warn_of_changes(study, opened)
        sessions = panel_sessions(opened, study)
        wanted = _read_bonuses(Path(bonuses), sessions)
        found = BonusesPaid(tuple(wanted), currency, not yes)
        matches: list[Match] = []
        if api is not None:
            recorded = opened.payments(study)
            matches = match_with(study, sessions, submissions_at_prolific(study, sessions, api))
            _settle_earlier(study, opened, recorded, api)
        found = _without_sent(found, opened.payments(study), purpose)
        if api is not None:
            found = _with_submissions(found, matches)
            found, before = _without_unknown_bonuses(found, opened.payments(study), api)
            if yes:
                found = _pay(study, opened, api, found, purpose, before)
        if output is not None:
            _write_lists(Path(output), found.bonuses)
            note_access(opened, study, Access.EXPORTED, what="bonuses", number=len(found.bonuses))
    return found


def _read_bonuses(path: Path, sessions: Iterable[SessionHere]) -> list[Bonus]:
    """Return the bonuses in a file. Refuse the whole file if one line is wrong."""
    by_name = {name: here for here in sessions for name in (here.external_id, here.participant)}
    found: dict[str, Bonus] = {}
    reader = csv.reader(io.StringIO(read_text(path, newline=""), newline=""))
    for cells in reader:
        where = f"{path}, line {reader.line_num}"
        texts = [unguarded(cell).strip() for cell in cells]
        if not any(texts):
            continue
        if len(texts) != 2 or not _AMOUNT.fullmatch(texts[1]) or float(texts[1]) == 0:
            raise InputError(
                f"{where}: this is not a bonus. Fix: write a participant and an amount, such as `id,4.25`."
            )
        here = by_name.get(texts[0])
        if here is None:
            raise InputError(f"{where}: no participant {texts[0]} has begun this study. Fix: correct the id.")
        if here.participant in found:
            raise InputError(f"{where}: participant {texts[0]} has two bonuses. Fix: write one line per participant.")
        whole, _, part = texts[1].partition(".")
        found[here.participant] = Bonus(here, int(whole) * 100 + int(f"{part:0<2}"))
    if not found:
        raise InputError(f"{path}: the file has no bonuses. Fix: write one line per participant, such as `id,4.25`.")
    return list(found.values())


def _settle_earlier(study: Study, store: Store, recorded: Sequence[Payment], api: ProlificApi) -> None:
    """Record earlier bonuses as paid if Prolific lists them, although the reply to their request was lost."""
    for payment in recorded:
        if payment.state is PaymentState.SENT and payment.cents is not None:
            since = [
                other.cents
                for other in recorded
                if other.submission == payment.submission
                and other.cents is not None
                and other.state is PaymentState.DONE
                and (other.settled_at or "") > payment.claimed_at
            ]
            new = Counter(api.bonuses(payment.submission)) - Counter(payment.paid_before) - Counter(since)
            if new[payment.cents]:
                store.settle_payment(study, payment, PaymentState.DONE)


def _without_sent(found: BonusesPaid, recorded: Iterable[Payment], purpose: str) -> BonusesPaid:
    """Leave out the bonuses that were sent before."""
    recorded = list(recorded)
    states = {payment.participant: payment.state for payment in recorded if payment.purpose == purpose}

    def in_state(*chosen: PaymentState | None) -> tuple[Bonus, ...]:
        return tuple(bonus for bonus in found.bonuses if states.get(bonus.session.participant) in chosen)

    others = {
        payment.participant
        for payment in recorded
        if payment.purpose not in {purpose, REVIEW} and payment.state in {PaymentState.SENT, PaymentState.DONE}
    }
    unsent = in_state(None, PaymentState.CLAIMED, PaymentState.REFUSED)
    return replace(
        found,
        bonuses=unsent,
        n_other_label=sum(bonus.session.participant in others for bonus in unsent),
        unknown=in_state(PaymentState.SENT),
        n_paid_before=len(in_state(PaymentState.DONE)),
    )


def _with_submissions(found: BonusesPaid, matches: Iterable[Match]) -> BonusesPaid:
    """Set the submission and the study at Prolific of each bonus, as Prolific lists them."""
    listed = {
        match.session.participant: match.submission
        for match in matches
        if match.session and match.submission and match.finding is not Finding.TWICE
    }
    bonuses, not_there = [], []
    for bonus in found.bonuses:
        one = listed.get(bonus.session.participant)
        if one is None:
            not_there.append(bonus)
        else:
            here = replace(bonus.session, submission=one.submission, panel_study=one.panel_study)
            bonuses.append(replace(bonus, session=here))
    return replace(found, bonuses=tuple(bonuses), not_there=tuple(not_there))


def _without_unknown_bonuses(
    found: BonusesPaid, recorded: Sequence[Payment], api: ProlificApi
) -> tuple[BonusesPaid, dict[str, tuple[int, ...]]]:
    """Leave out participants with a bonus that Prolific lists and the store does not know.

    Another researcher may have paid this bonus on Prolific's page or with another store. Return also the listed bonuses
    of each participant.
    """
    before: dict[str, tuple[int, ...]] = {}
    strange = []
    with progress_bar("Reading bonuses", len(found.bonuses)) as advance:
        for bonus in found.bonuses:
            here = bonus.session
            listed = api.bonuses(here.submission or "")
            before[here.participant] = listed
            ours = [one.cents for one in recorded if one.submission == here.submission and one.cents is not None
                    and one.state in {PaymentState.DONE, PaymentState.SENT}]  # fmt: skip
            if Counter(listed) - Counter(ours):
                strange.append(bonus)
            advance()
    rest = tuple(bonus for bonus in found.bonuses if bonus not in strange)
    return replace(found, bonuses=rest, not_by_us=tuple(strange)), before


def _pay(
    study: Study,
    store: Store,
    api: ProlificApi,
    found: BonusesPaid,
    purpose: str,
    before: dict[str, tuple[int, ...]],
) -> BonusesPaid:
    claim = secrets.token_hex(8)
    wanted = [
        Payment(
            bonus.session.participant,
            purpose,
            "bonus",
            bonus.session.submission or "",
            bonus.cents,
            before[bonus.session.participant],
        )
        for bonus in found.bonuses
    ]
    claimed = {payment.participant for payment in store.claim_payments(study, wanted, claim)}
    if len(claimed) != len(wanted):
        raise InputError(
            "another command pays the same bonuses now. Fix: wait for its end, and run this command again."
        )
    by_study: dict[str, list[Bonus]] = {}
    for bonus in found.bonuses:
        by_study.setdefault(bonus.session.panel_study or "", []).append(bonus)
    n_paid = cents = 0
    try:
        for panel_study, bonuses in by_study.items():
            for part in _parts(bonuses):
                _pay_batch(study, store, api, panel_study, part, claim, purpose)
                n_paid += len(part)
                cents += sum(bonus.cents for bonus in part)
    finally:
        if n_paid:
            note_access(store, study, Access.BONUS_PAID, label=purpose, number=n_paid, cents=cents)
    return replace(found, n_paid=n_paid)


def _pay_batch(
    study: Study,
    store: Store,
    api: ProlificApi,
    panel_study: str,
    bonuses: Sequence[Bonus],
    claim: str,
    purpose: str,
) -> None:
    """Pay at most 200 bonuses with one request. If the request fails, the store keeps its state."""
    participants = [bonus.session.participant for bonus in bonuses]
    batch = api.set_up_bonuses(panel_study, {bonus.session.submission or "": bonus.cents for bonus in bonuses})
    # From here on the bonuses count as sent, until Prolific's reply or Prolific's list shows the outcome.
    if not store.send_payments(study, claim, purpose, participants, batch):
        raise InputError(
            "another command pays the same bonuses now. Fix: wait for its end, and run this command again."
        )
    try:
        api.pay_bonuses(batch)
    except Refused:
        store.settle_payments(study, claim, purpose, participants, PaymentState.REFUSED)
        raise
    store.settle_payments(study, claim, purpose, participants, PaymentState.DONE)


def _parts(bonuses: Sequence[Bonus]) -> list[Sequence[Bonus]]:
    return [bonuses[start : start + MOST_LINES] for start in range(0, len(bonuses), MOST_LINES)]


def _write_lists(path: Path, bonuses: Sequence[Bonus]) -> None:
    """Write bonuses as lists for Prolific's page, of at most 200 lines each."""
    parts = _parts(bonuses) or [()]
    for number, part in enumerate(parts, start=1):
        target = path if len(parts) == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        with atomic_write(target, is_private=True) as file:
            write_rows(file, [[bonus.session.external_id, in_major_units(bonus.cents)] for bonus in part])
