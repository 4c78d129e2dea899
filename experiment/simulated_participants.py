"""Simulated participants: programs that complete a study over HTTP as people do, for pilots and the demo.

Simulated participants always have the kind `simulated`. A careful participant responds by the Rasch model: the
probability of a right response grows with the participant's ability minus the item's difficulty. Response times are
ex-Gaussian, as people's response times usually are. A careful participant also needs time to read the item. A careless
participant responds at random and fast, and mostly fails the attention checks. As for a person, no response comes
during the study's reading time, and a response after the deadline is missing. Responses to `keypress` items are fast.
"""

import hashlib
import random
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import numpy as np
from pydantic import JsonValue

from batteries.canonical_json import digest
from batteries.errors import InputError
from batteries.items import Item
from batteries.stimulus.shown import shown_content
from batteries.tasks import READING_WORDS_PER_MINUTE, Score, task_named
from batteries.tasks.interactive import InteractiveTask, Move
from batteries.tasks.keypress import WITHHELD, Keypress
from batteries.tasks.rating import points_of
from experiment.plan import Phase
from experiment.records import Kind
from experiment.study.definition import Study
from experiment.study.demographics import DemographicQuestion
from experiment.study.response_keys import under_all_mappings

CARELESS_SHARE = 0.15
CARELESS_PASS_SHARE = 0.25
"""Probability that a careless participant passes an attention check."""
CAREFUL_RT_MS = (6_500.0, 1_200.0, 4_500.0)
"""Parameters of ex-Gaussian response times of an average careful participant: mu, sigma and tau."""
CARELESS_RT_MS = (600.0, 150.0, 350.0)
KEYPRESS_RT_MS = (420.0, 50.0, 110.0)
"""The same for fast responses, as in a lexical decision. Most of these times are between 350 and 750 ms."""
FASTEST_RT_MS = 150.0
INTERRUPTED_SHARE = 0.004
"""Share of trials with an interruption, which adds `INTERRUPTION_MS` to the response time."""
INTERRUPTION_MS = 150_000.0
CONCURRENT_SESSIONS = 8


@dataclass(frozen=True)
class Person:
    """Parameters of one simulated participant."""

    ability: float
    """Ability on the Rasch scale, in logits. The mean difficulty of items is 0."""
    careless: bool
    mu_ms: float
    """Mean of the normal component of the response times, in ms."""
    sigma_ms: float
    """Standard deviation of the normal component of the response times, in ms."""
    tau_ms: float
    """Mean of the exponential component of the response times, in ms."""
    ms_per_word: float
    """Reading time per word, in ms."""

    @property
    def slowness(self) -> float:
        """The participant's response times, relative to those of an average participant of the same kind."""
        return self.mu_ms / (CARELESS_RT_MS if self.careless else CAREFUL_RT_MS)[0]


def draw_person(rng: np.random.Generator) -> Person:
    """Draw the parameters of a participant."""
    careless = bool(rng.random() < CARELESS_SHARE)
    speed = rng.lognormal(0, 0.25)
    mu_ms, sigma_ms, tau_ms = CARELESS_RT_MS if careless else CAREFUL_RT_MS
    ms_per_word = 0.0 if careless else 60_000 / READING_WORDS_PER_MINUTE
    ability = float(rng.normal(1.2, 0.9))
    return Person(ability, careless, mu_ms * speed, sigma_ms * speed, tau_ms * speed, ms_per_word * speed)


def draw_rt_ms(person: Person, n_words: int, rng: np.random.Generator) -> float:
    """Draw an ex-Gaussian response time: a normal plus an exponential component, and at least `FASTEST_RT_MS`.

    The time to read `n_words` is added. A small share of trials also has an interruption.
    """
    rt_ms = max(FASTEST_RT_MS, float(rng.normal(person.mu_ms, person.sigma_ms) + rng.exponential(person.tau_ms)))
    rt_ms += n_words * person.ms_per_word
    return rt_ms + INTERRUPTION_MS if rng.random() < INTERRUPTED_SHARE else rt_ms


def draw_keypress_rt_ms(person: Person, rng: np.random.Generator) -> float:
    """Draw the time of a fast response, which needs no reading."""
    mu_ms, sigma_ms, tau_ms = KEYPRESS_RT_MS
    return max(FASTEST_RT_MS, person.slowness * float(rng.normal(mu_ms, sigma_ms) + rng.exponential(tau_ms)))


def draw_response(person: Person, item: Item, is_check: bool, rng: np.random.Generator) -> JsonValue:
    """Draw a response: right with a probability that depends on participant and item, otherwise wrong.

    A response to an ungraded item is drawn at random.
    """
    task = task_named(item.task)
    if not item.is_graded:
        return task.draw(item.content, random.Random(int(rng.integers(2**63))))
    if person.careless:
        p_correct = CARELESS_PASS_SHARE if is_check else task.chance(item.content)
    elif is_check:
        p_correct = 1.0
    else:
        p_correct = 1 / (1 + np.exp(difficulty(item) - person.ability))
    if rng.random() < p_correct:
        return task.right_response(item.content, item.key)
    wrong = [
        response
        for response in task.responses(item.content)
        if not task.score(item.content, item.key, response).correct
    ]
    if not wrong:  # Participants type their response.
        return task.draw_wrong(item.content, item.key, random.Random(int(rng.integers(2**63))))
    return wrong[int(rng.integers(len(wrong)))]


def draw_confidence(
    question: dict[str, Any] | None, score: Score | None, rng: np.random.Generator
) -> dict[str, JsonValue]:
    """Draw the confidence in a response, which is lower on average if the response is wrong.

    Return the fields of the response; none if the study does not ask for confidence.
    """
    if question is None:
        return {}
    points = points_of(question["low"], question["high"], question["step"])
    share = float(rng.beta(4, 2) if score is None or score.correct else rng.beta(3, 3))
    rt_ms = round(float(rng.normal(1_200, 150) + rng.exponential(500)), 1)
    return {"confidence": points[min(int(share * len(points)), len(points) - 1)], "confidence_rt_ms": max(150.0, rt_ms)}


def draw_about_person(question: DemographicQuestion, rng: np.random.Generator) -> str | int | None:
    """Draw an answer to a question about the participant. If the question asks for a text, return None (skipped)."""
    if question.answer == "number":
        return int(rng.integers(question.low, question.high, endpoint=True))
    return str(rng.choice(question.options)) if question.answer == "choice" else None


def difficulty(item: Item) -> float:
    """Return an item's difficulty in logits, which is the same for all participants.

    Over the items, difficulty has a standard normal distribution.
    """
    number = int(hashlib.sha256(item.item_id.encode()).hexdigest()[:15], 16)
    return float(np.random.default_rng(number).normal())


def simulate(
    url: str,
    token: str,
    study: Study,
    n_participants: int,
    seed: int,
    on_done: Callable[[], None] = lambda: None,
    first_number: int = 0,
) -> None:
    """Run simulated participants through the study that is served at `url`.

    If the session plans are the same, the same seed and participant numbers give the same participants and responses.

    Parameters
    ----------
    url
        Address of the study, such as `http://127.0.0.1:8000`.
    token
        The researcher's token of the server, which simulated sessions need.
    study
        The served study. Simulated participants read the answer keys from it.
    n_participants
        Number of participants.
    seed
        Seed of the participants and their responses.
    on_done
        Function that is called after each participant, for a progress bar.
    first_number
        Number of the first participant, from 0. If `n` participants were simulated before, pass `n`, so that no
        participant number occurs twice.

    Raises
    ------
    InputError
        If the server cannot be reached or refuses a response.
    """
    try:
        _simulate(url, token, study, range(first_number, first_number + n_participants), seed, on_done)
    except httpx.HTTPStatusError as error:
        raise InputError(f"the server at {url} refused a request: {error.response.text.strip()}") from None
    except httpx.HTTPError as error:
        raise InputError(f"the server at {url} does not respond ({error}). Fix: start the server again.") from None


def _simulate(url: str, token: str, study: Study, numbers: range, seed: int, on_done: Callable[[], None]) -> None:
    items = items_by_shown_digest(study)
    checks = frozenset(study.definition.attention_checks)
    with httpx.Client(base_url=url, timeout=60) as client, ThreadPoolExecutor(CONCURRENT_SESSIONS) as pool:
        consent_digest = client.get("/api/study").raise_for_status().json()["consent_digest"]

        def take(number: int, session: dict[str, Any], cookie: str) -> None:
            _take_session(client, session, {"Cookie": cookie}, items, checks, np.random.default_rng([seed, number]))
            on_done()

        # Sessions begin one after another, so that the n-th participant always gets the same group and plan.
        under_way = []
        for number in numbers:
            session, cookie = _start_session(client, token, consent_digest)
            under_way.append(pool.submit(take, number, session, cookie))
        for future in under_way:
            future.result()


def _start_session(client: httpx.Client, token: str, consent_digest: str) -> tuple[dict[str, Any], str]:
    """Begin a session.

    Return the session and its cookie. The client keeps no cookie, because all sessions share the client.
    """
    start = {"start_id": str(uuid.uuid4()), "consent_digest": consent_digest, "kind": Kind.SIMULATED}
    reply = client.post("/api/session", json=start, headers={"Authorization": f"Bearer {token}"}).raise_for_status()
    client.cookies.clear()
    return reply.json(), reply.headers["Set-Cookie"].partition(";")[0]


def _take_session(
    client: httpx.Client,
    session: dict[str, Any],
    cookie: dict[str, str],
    items: dict[str, Item],
    checks: frozenset[str],
    rng: np.random.Generator,
) -> None:
    person = draw_person(rng)
    if session["demographics"]:
        said = {
            one["name"]: draw_about_person(DemographicQuestion.model_validate(one), rng)
            for one in session["demographics"]
        }
        about = {"session": session["session"], "answers": said}
        client.post("/api/demographics", json=about, headers=cookie).raise_for_status()
    next_trial_index = 0
    for trial in session["trials"]:
        if trial["trial_index"] < next_trial_index:  # The participant does not need this round of practice.
            continue
        item = items[shown_digest(trial["task"], trial["content"])]
        task = task_named(item.task)
        response: JsonValue
        if isinstance(task, InteractiveTask):
            response, rt_ms = _play(client, session, cookie, trial, task, person, int(rng.integers(2**63)))
        else:
            response = draw_response(person, item, item.item_id in checks, rng)
            if item.task == Keypress.name:
                rt_ms = draw_keypress_rt_ms(person, rng)
            else:
                rt_ms = draw_rt_ms(person, task.n_words(item.content), rng)
        timed = _within_time_limits(session, trial, response, rt_ms)
        confidence: dict[str, JsonValue] = {}
        if timed["response"] is not None:
            # Games that look alike can have different keys, so only the server can score a game.
            score = None if isinstance(task, InteractiveTask) else item.score(timed["response"])
            confidence = draw_confidence(session["confidence"], score, rng)
        record = {
            "response_id": str(uuid.uuid4()),
            "trial_index": trial["trial_index"],
            **timed,
            **confidence,
            "fixation_ms": session["fixation_ms"],
            "shown_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "frames_dropped": 0,
            "focus_lost": 0,
        }
        body = {"session": session["session"], "responses": [record]}
        stored = client.post("/api/responses", json=body, headers=cookie).raise_for_status().json()["responses"][0]
        practice = (stored["feedback"] or {}).get("practice")
        if practice:
            if practice["ended"]:
                return
            next_trial_index = practice["next_trial_index"]
    client.post("/api/complete", json={}, headers=cookie).raise_for_status()


def _play(
    client: httpx.Client,
    session: dict[str, Any],
    cookie: dict[str, str],
    trial: dict[str, Any],
    task: InteractiveTask[Any],
    person: Person,
    seed: int,
) -> tuple[int, float]:
    """Play a trial of an interactive task to its end. Return the number of actions (the response), and the time in ms.

    The participant sees only the observations. Each action takes as long as an average response.
    """
    moves: list[Move] = []
    rng = np.random.default_rng(seed)
    since_onset_ms, is_over = 0.0, False
    while not is_over:
        action = task.draw_action(trial["content"], moves, seed, not person.careless)
        rt_ms = draw_rt_ms(person, 0, rng)
        since_onset_ms += rt_ms
        sent = {
            "action_id": str(uuid.uuid4()),
            "trial_index": trial["trial_index"],
            "action_index": len(moves),
            "action": action,
            "since_onset_ms": round(since_onset_ms, 1),
            "rt_ms": round(rt_ms, 1),
        }
        body = {"session": session["session"], "action": sent}
        reply = client.post("/api/action", json=body, headers=cookie).raise_for_status().json()
        moves.append({"action": action, "observation": reply["observation"]})
        is_over = reply["is_over"]
    return len(moves), since_onset_ms


def items_by_shown_digest(study: Study) -> dict[str, Item]:
    """Return the items of a study, as participants get them, by the digests of their contents on the screen."""
    shown = under_all_mappings(study.battery.items, study.definition.response_keys)
    return {shown_digest(item.task, shown_content(item.content)): item for item in shown}


def _within_time_limits(
    session: dict[str, Any], trial: dict[str, Any], response: JsonValue, rt_ms: float
) -> dict[str, JsonValue]:
    """Return the fields of a response that depend on the reading time and the deadline. Practice has no deadline.

    A `keypress` item has no reading time, and its `window_ms` replaces the deadline, also in practice. If it allows the
    response without a key, this response has no response time.
    """
    content = trial["content"]
    if session["reading_ms"] and trial["task"] != Keypress.name:
        rt_ms = max(rt_ms, session["reading_ms"] + FASTEST_RT_MS)
    deadline_ms = None if trial["phase"] == Phase.PRACTICE else session["deadline_ms"]
    deadline_ms = content.get("window_ms") or deadline_ms
    is_late = deadline_ms is not None and rt_ms > deadline_ms
    if content.get("withhold") and (is_late or response == WITHHELD):
        return {"response": WITHHELD, "rt_ms": None}
    if is_late:
        return {"response": None, "missing": "deadline", "rt_ms": None}
    return {"response": response, "rt_ms": round(rt_ms, 1)}


def shown_digest(task: str, content: dict[str, Any]) -> str:
    """Return a digest of the content on the screen.

    This digest identifies the item, because the server sends no item ids.
    """
    return digest([task, content])
