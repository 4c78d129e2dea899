"""The numbers of excluded and included participants and trials in each counterbalance group."""

import pandas as pd

from analysis.data.columns import PEOPLE, sessions_of
from analysis.exclusions.flow import INCLUDED, NOT_A_TEST_TRIAL, Exclusions
from analysis.sentences import count

COUNTS = ["recruited_participants", "planned_trials", "excluded_participants", "trials_of_excluded_participants",
          "excluded_trials", "final_participants", "final_trials"]  # fmt: skip
TOTAL = "total"


def exclusions_by_group(exclusions: Exclusions) -> pd.DataFrame:
    """Return the numbers of participants and test trials in each counterbalance group. Models are not counted.

    Returns
    -------
    DataFrame
        The columns `kind` (`human` or `simulated`), `group`, and the columns in `COUNTS`. For each kind, the last row
        has the group `total`. `excluded_trials` is the number of excluded trials of included participants.
        `trials_of_excluded_participants` is the number of all trials of excluded participants. In each row,
        `planned_trials` is the sum of `excluded_trials`, `trials_of_excluded_participants` and `final_trials`.
        Participants without a group are in the group `none`.

    Raises
    ------
    RuntimeError
        If the numbers in a row do not add up, or if the row `total` disagrees with `Exclusions.participants`. This
        would be a bug in Equipoise.

    Notes
    -----
    Published exclusion tables usually lack the column `trials_of_excluded_participants`. Without this column, a reader
    cannot check whether the numbers of trials agree with the numbers of participants.

    A trial is counted in the group of its session. A participant with several sessions may be in several groups. Such
    a participant is counted in each of these groups, and once in the total. In a group, the participant counts as
    excluded if none of the participant's trials in this group is in the analysis. If a participant is in several
    groups, the numbers of participants in the groups add up to more than the row `total`. `notes_on_several_groups`
    then returns a note. The numbers of trials always add up to the total.
    """
    by = ["kind", "participant", "group"]
    trials = exclusions.trials[[*by, "excluded_by"]]
    trials = trials[trials["kind"].isin(list(PEOPLE))]
    work = trials[by].assign(n_planned=trials["excluded_by"] != NOT_A_TEST_TRIAL, n_final=trials["excluded_by"].isna())
    work = work.groupby(by, dropna=False, sort=False).sum().reset_index()  # Few rows remain for `_named`.
    work["group"] = _named(work["group"])
    of_groups, totals = _counted(work), _counted(work.assign(group=TOTAL))
    rows = []
    for kind in [kind for kind in PEOPLE if (totals["kind"] == kind).any()]:
        own = of_groups[of_groups["kind"] == kind]
        own = own.sort_values("group", key=lambda names: names.map(lambda name: (name == "none", name.zfill(9))))
        total = totals[totals["kind"] == kind]
        _check(own, total, exclusions.participants[exclusions.participants["kind"] == kind])
        rows += [own, total]
    return pd.concat(rows, ignore_index=True) if rows else totals


def notes_on_several_groups(exclusions: Exclusions) -> list[str]:
    """Return a note if a participant was in several groups, because the groups then add up to more than the total."""
    sessions = sessions_of(exclusions.trials)
    placed = sessions[sessions["kind"].isin(list(PEOPLE))].assign(group=lambda own: _named(own["group"]))
    n_groups = placed.groupby("unit")["group"].nunique()
    n_people = int((n_groups > 1).sum())
    if n_people == 0:
        return []
    return [
        f"{count(n_people, 'participant was', 'participants were')} in more than one counterbalance group. Such a "
        "participant is counted in each of these groups, and once in the total. In a group, the participant counts as "
        "excluded if none of the participant's trials in this group is in the analysis. So the groups together have "
        "more participants than the total."
    ]


def _named(groups: pd.Series) -> pd.Series:
    return groups.astype("object").map(lambda group: "none" if pd.isna(group) else str(int(group)))


def _counted(work: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns in `COUNTS`.

    The table has one row for each kind of participant and each counterbalance group. If no trial of a participant
    remains in a group after the exclusions, the participant counts as excluded in this group.
    """
    participants = work.groupby(["kind", "group", "participant"], sort=False)[["n_planned", "n_final"]].sum()
    is_included = participants["n_final"] > 0
    n_lost = participants["n_planned"] - participants["n_final"]
    counts = pd.DataFrame(
        {
            "recruited_participants": 1,
            "planned_trials": participants["n_planned"],
            "excluded_participants": ~is_included,
            "trials_of_excluded_participants": n_lost.where(~is_included, 0),
            "excluded_trials": n_lost.where(is_included, 0),
            "final_participants": is_included,
            "final_trials": participants["n_final"],
        }
    )
    return counts.groupby(["kind", "group"], sort=False).sum().astype("int64").reset_index()


def _check(groups: pd.DataFrame, total: pd.DataFrame, participants: pd.DataFrame) -> None:
    """Check the sums in each row, the sums of the groups, and that `total` agrees with the table of participants."""
    parts = ["trials_of_excluded_participants", "excluded_trials", "final_trials"]
    people = ["excluded_participants", "final_participants"]
    rows = pd.concat([groups, total])
    expected = {
        "recruited_participants": len(participants),
        "planned_trials": participants["n_test_trials"].sum(),
        "final_participants": (participants["disposition"] == INCLUDED).sum(),
        "final_trials": participants["n_included"].sum(),
    }
    of_trials = ["planned_trials", "final_trials"]
    if not (
        rows[parts].sum(axis=1).eq(rows["planned_trials"]).all()
        and rows[people].sum(axis=1).eq(rows["recruited_participants"]).all()
        and groups[of_trials].sum().eq(total[of_trials].iloc[0]).all()
        and (total[list(expected)].iloc[0] == pd.Series(expected)).all()
    ):
        raise RuntimeError("The exclusions by group do not add up. Please report this as a bug of Equipoise.")
