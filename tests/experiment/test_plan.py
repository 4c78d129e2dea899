import subprocess
import sys
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.canonical_json import digest
from experiment.load_study import load_study
from experiment.plan import Phase, plan_session
from experiment.study.definition import Study
from tests.paths import ROOT

FIRST_PLANS = {
    "equipoise/studies/blackbox-predict": (
        "98ff5de91338658a4c6b257176acf0924de6c79da328ac60ee892dd37187d017",
        "734f1ae1d5c740663d1dee17883bcd1a1440042b19060398f25574886d6d42ed",
    ),
    "equipoise/studies/intuition-double": (
        "f6b0924f6996e182b06d255f4c0331b644189d64f1fc997297702e9a125ee5b4",
        "95e1c5ed9d7d2674a752ef80f65d54de080a8f3144a034e3eb3015d1f09c5b62",
    ),
    "tests/question_study": (
        "2b1b9698172f9a5b5b4d9d87fff99ccdc239a221b9b07597df138b29028d151f",
        "fd3baa8087ad644ef60f9a72bf8a241abfdefbbbefb3654d7922bfd3a340f5ea",
    ),
}
"""Digests of studies, and of their plans. They change only if the files of the study change."""


@pytest.mark.parametrize("folder", FIRST_PLANS)
def test_plans_and_digests_are_the_same_on_every_machine_and_version(folder: str) -> None:
    # Pinned: a study that was preregistered with these plans must get them for ever.
    study = load_study(ROOT / folder)
    n_groups = study.definition.design.groups
    plans = [
        plan_session(study, group, seed).model_dump(mode="json")
        for group in range(1, n_groups + 1)
        for seed in (1, 2, 3)
    ]
    assert (study.digest, digest(plans)) == FIRST_PLANS[folder]


def test_a_plan_does_not_depend_on_the_process(sample_study: Study) -> None:
    program = (
        "import sys; from pathlib import Path; from experiment.load_study import load_study; "
        "from experiment.plan import plan_session; "
        "print(plan_session(load_study(Path(sys.argv[1])), 3, 5).model_dump_json())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program, str(sample_study.folder)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert runs == {plan_session(sample_study, 3, 5).model_dump_json()}


@given(st.integers(1, 10), st.integers(0, 2**63))
def test_a_session_has_each_item_of_its_group_once_and_keeps_the_constraints(
    sample_study: Study, group: int, seed: int
) -> None:
    trials = plan_session(sample_study, group, seed).trials
    assert [trial.trial_index for trial in trials] == list(range(len(trials)))
    phases = [trial.phase for trial in trials]
    assert phases[0] is Phase.PRACTICE
    assert Counter(phases)[Phase.PRACTICE] == 1

    test_ids = [trial.item_id for trial in trials if trial.phase is Phase.TEST]
    assert sorted(test_ids) == sorted(item_id for item_id, of in sample_study.groups.items() if of == group)
    (check,) = (index for index, phase in enumerate(phases) if phase is Phase.ATTENTION_CHECK)
    assert 1 + 5 <= check <= len(trials) - 1 - 5
    outcomes = [sample_study.battery.by_id[item_id].factors["outcome"] for item_id in test_ids]
    assert max(len(list(run)) for _, run in groupby(outcomes)) <= 4


def test_each_seed_gives_a_different_order(sample_study: Study) -> None:
    plans = {tuple(t.item_id for t in plan_session(sample_study, 1, seed).trials) for seed in range(50)}
    assert len(plans) == 50


def test_over_all_groups_every_test_item_is_seen_once(sample_study: Study) -> None:
    seen = Counter(
        trial.item_id
        for group in range(1, 11)
        for trial in plan_session(sample_study, group, 1).trials
        if trial.phase is Phase.TEST
    )
    assert len(seen) == 235
    assert set(seen.values()) == {1}


@pytest.mark.parametrize("group", [0, 11, -1])
def test_an_unknown_group_is_refused(sample_study: Study, group: int) -> None:
    with pytest.raises(ValueError, match="Fix: use a group from 1 to 10"):
        plan_session(sample_study, group, 1)
