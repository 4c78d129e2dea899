"""A store of each kind in which everything has happened once."""

from experiment.models.baselines import run_baseline
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Access, Account, Identity, Payment, Role, Store
from tests.server.stores import (
    Clock,
    Person,
    problems,
    response,
    rows,
    saying,
    version_of,
)

KINDS = ["sqlite", "postgres"]


def live_in(store: Store, study: Study) -> dict[str, Person]:
    """Make each kind of event happen once in a store."""
    store.register_study(study)
    with Clock().installed() as clock:
        people = {"lapsed": Person(store, study)}
        clock.advance(minutes=61)
        people["completed"] = Person(store, study, identity=Identity("panel", "anna", {"STUDY_ID": "s1"})).complete()
        bonus = Payment(people["completed"].stored.session.participant.participant, "bonus", "bonus", "s1", cents=50)
        assert store.claim_payments(study, [bonus], "run")
        people["under way"] = Person(store, study)
        people["under way"].answer(2)
        people["withdrawn"] = Person(store, study).complete().withdraw()
        people["failed"] = Person(store, study).complete(passed_checks=False)
        people["excluded"] = Person(store, study).complete()
        store.exclude_sessions([people["excluded"].session], "fire alarm")
        people["simulated"] = Person(store, study, Kind.SIMULATED).complete()
        store.open_group(study, 2, is_open=False)
        store.save_account(study, Account("anna", Role.OWNER, "$argon2id$a"), Access.ACCOUNT_ADDED, "command line")
        store.save_account(study, Account("bea", Role.VIEWER, "$argon2id$b"), Access.ACCOUNT_ADDED, "command line")
        store.remove_account(study, "bea", "command line")
        revised = saying(study, title="Where does it come out?")
        store.revise_study(revised, "typo in the title")
        people["revised"] = Person(store, revised)
        run = run_baseline(study, "baseline/tracer")
        responses = tuple(one.model_copy(update={"text": "I see – ä\n🙂", "valid": False}) for one in run.responses)
        store.add_runs(
            study, [run.model_copy(update={"responses": responses, "temperature": 0.1, "prompt_digest": "p"})]
        )
        later = version_of(study, "1.1")
        store.register_study(later)
        people["later"] = Person(store, later)
        people["later"].send(response(0, rt_ms=0.1 + 0.2, response={"ä": [None, 1e-300, "🙂"]}, shown_at=None))
        for index in range(2):
            people["later"].act(index, 1)
    assert problems(store) == []
    return people


def names(store: Store, people: dict[str, Person]) -> dict[str, str]:
    ((run,),) = rows(store, "SELECT session FROM runs")
    item = people["completed"].stored.plan.trials[1].item.item_id
    return {
        **{name: person.session for name, person in people.items()},
        "run": run,
        "item": item,
        "study": people["completed"].stored.session.study_digest,
    }
