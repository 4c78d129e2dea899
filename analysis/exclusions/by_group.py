"""Participants and trials excluded and included by counterbalance group; all rows and totals add up."""

import pandas as pd

from analysis.data.columns import PEOPLE, sessions_of
from analysis.exclusions.flow import INCLUDED, NOT_A_TEST_TRIAL, Exclusions
from analysis.sentences import count

COUNTS = ["recruited_participants", "planned_trials", "excluded_participants", "trials_of_excluded_participants",
          "excluded_trials", "final_participants", "final_trials"]  # fmt: skip
TOTAL = "total"


def exclusions_by_group(exclusions: Exclusions) -> pd.DataFrame:
    """Return participants and test trials by counterbalance group, of people.

    Returns
    -------
    DataFrame
        `kind`, `group` (with a row `total` for each kind) and `COUNTS`. `excluded_trials` are single trials of included
        participants; all trials of excluded participants are in `trials_of_excluded_participants`. In each row, the
        planned trials are these two and the final ones. Participants without a group are in `none`.

    Raises
    ------
    RuntimeError
        If a row does not add up, or disagrees with the other tables; such a table must not be published.

    Notes
    -----
    The shape is that of the exclusion tables of published counterbalanced studies, with the trials of excluded
    participants in a column of their own: without it, trials and participants cannot be checked against each other.

    A trial is counted in its own group. A participant who comes again may be in another group then: they are counted in
    every group they were in, as excluded if no trial of that group is in the analysis, and once in the total. The
    groups' participants then add up to more than the total (`told_several_groups`); planned and final trials never do.
    """
    by = ["kind", "participant", "group"]
    trials = exclusions.trials[[*by, "excluded_by"]]
    trials = trials[trials["kind"].isin(list(PEOPLE))]
    work = trials[by].assign(n_planned=trials["excluded_by"] != NOT_A_TEST_TRIAL, n_final=trials["excluded_by"].isna())
    work = work.groupby(by, dropna=False, sort=False).sum().reset_index()  # Few rows, before groups become words.
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


def told_several_groups(exclusions: Exclusions) -> list[str]:
    """Return a sentence if a participant was in more than one group, as the groups' sum is then too high."""
    sessions = sessions_of(exclusions.trials)
    placed = sessions[sessions["kind"].isin(list(PEOPLE))].assign(group=lambda own: _named(own["group"]))
    n_groups = placed.groupby("unit")["group"].nunique()
    n_people = int((n_groups > 1).sum())
    if n_people == 0:
        return []
    return [
        f"{count(n_people, 'participant was', 'participants were')} in more than one counterbalance group. A trial "
        "is counted in its own group; a participant in each group they were in, as excluded if no trial of that "
        "group is in the analysis, and once in the total. So the groups' participants add up to more than the "
        "total."
    ]


def _named(groups: pd.Series) -> pd.Series:
    return groups.astype("object").map(lambda group: "none" if pd.isna(group) else str(int(group)))


def _counted(work: pd.DataFrame) -> pd.DataFrame:
    """Return `COUNTS` by kind and group; a participant is excluded from a group by the trials they have in it."""
    who = work.groupby(["kind", "group", "participant"], sort=False)[["n_planned", "n_final"]].sum()
    stays, n_lost = who["n_final"] > 0, who["n_planned"] - who["n_final"]
    counts = pd.DataFrame(
        {"recruited_participants": 1, "planned_trials": who["n_planned"], "excluded_participants": ~stays,
         "trials_of_excluded_participants": n_lost.where(~stays, 0), "excluded_trials": n_lost.where(stays, 0),
         "final_participants": stays, "final_trials": who["n_final"]}
    )  # fmt: skip
    return counts.groupby(["kind", "group"], sort=False).sum().astype("int64").reset_index()


def _check(groups: pd.DataFrame, total: pd.DataFrame, participants: pd.DataFrame) -> None:
    """Check the sum of every row, the groups against their total, and the total against the table of participants."""
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
