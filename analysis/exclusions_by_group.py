"""How many participants and trials each counterbalance group lost and kept; all rows and columns add up."""

import pandas as pd

from analysis.columns import PEOPLE, units
from analysis.exclusions import INCLUDED, NOT_A_TEST_TRIAL, Exclusions

COUNTS = ["recruited_participants", "planned_trials", "excluded_participants", "trials_of_excluded_participants",
          "excluded_trials", "final_participants", "final_trials"]  # fmt: skip


def exclusions_by_group(exclusions: Exclusions) -> pd.DataFrame:
    """Return participants and test trials by counterbalance group, of people.

    Returns
    -------
    DataFrame
        `kind`, `group` (with a row `total` for each kind) and `COUNTS`. `excluded_trials` are single trials of
        participants who stay; all that excluded participants were to answer is in `trials_of_excluded_participants`.
        In each row, the planned trials are these two and the final ones; whoever never got a group is in group `none`.

    Raises
    ------
    RuntimeError
        If a row does not add up; nothing must be published from such a table.

    Notes
    -----
    The shape is that of the exclusion tables of published counterbalanced studies, with the trials of excluded
    participants in a column of their own: without it, trials and participants cannot be checked against each other.
    """
    trials = exclusions.trials
    test = trials[trials["kind"].isin(list(PEOPLE)) & (trials["excluded_by"] != NOT_A_TEST_TRIAL)]
    people = exclusions.participants[exclusions.participants["kind"] != "model"]
    is_final = people.set_index("participant")["disposition"] == INCLUDED
    stays = units(test).map(is_final).astype(bool)
    group_of = people.set_index("participant")["group"]
    work = pd.DataFrame(
        {"kind": test["kind"], "group": _named(units(test).map(group_of)), "planned_trials": 1,
         "trials_of_excluded_participants": ~stays, "excluded_trials": stays & test["excluded_by"].notna(),
         "final_trials": test["excluded_by"].isna()}
    )  # fmt: skip
    counted = work.groupby(["kind", "group"], sort=False).sum()
    final = people["disposition"] == INCLUDED
    who = pd.DataFrame(
        {"kind": people["kind"], "group": _named(people["group"]), "recruited_participants": 1,
         "excluded_participants": ~final, "final_participants": final}
    )  # fmt: skip
    table = who.groupby(["kind", "group"], sort=False).sum().join(counted, how="outer").fillna(0).astype("int64")
    table = table.reset_index()[["kind", "group", *COUNTS]]
    rows = []
    for kind in [kind for kind in PEOPLE if (table["kind"] == kind).any()]:
        own = table[table["kind"] == kind]
        own = own.sort_values("group", key=lambda names: names.map(lambda name: (name == "none", name.zfill(9))))
        total = pd.DataFrame([{"kind": kind, "group": "total", **own[COUNTS].sum().to_dict()}])
        rows += [own, total]
    found = pd.concat(rows, ignore_index=True) if rows else table
    _check(found)
    return found


def _named(groups: pd.Series) -> pd.Series:
    return groups.astype("object").map(lambda group: "none" if pd.isna(group) else str(int(group)))


def _check(table: pd.DataFrame) -> None:
    parts = ["trials_of_excluded_participants", "excluded_trials", "final_trials"]
    people = ["excluded_participants", "final_participants"]
    if not (
        table[parts].sum(axis=1).eq(table["planned_trials"]).all()
        and table[people].sum(axis=1).eq(table["recruited_participants"]).all()
    ):
        raise RuntimeError("The exclusions by group do not add up. Please report this as a bug of Equipoise.")
