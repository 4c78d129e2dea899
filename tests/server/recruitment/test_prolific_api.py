"""The client of Prolific's API: its token stays secret, reading is repeated, and a write is never repeated blindly."""

import logging
from collections.abc import Iterator

import httpx
import pytest

from batteries.errors import InputError
from server.recruitment import prolific_api as module
from server.recruitment.prolific_api import OutcomeUnknown, ProlificApi, ProlificError, Refused, prolific_api
from tests.equipoise.commands.recruit.fake_prolific import TOKEN, FakeProlific, served


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProlific]:
    monkeypatch.setattr(module, "PAUSES_S", (0.0, 0.0, 0.0))
    with served() as fake:
        fake.add_study()
        yield fake


@pytest.fixture
def api(fake: FakeProlific) -> Iterator[ProlificApi]:
    client = ProlificApi(TOKEN, fake.address)
    yield client
    client.close()


@pytest.mark.parametrize("status", [429, 500, 502, 503, None])
def test_reading_is_repeated_after_a_temporary_failure(
    api: ProlificApi, fake: FakeProlific, status: int | None
) -> None:
    fake.fail("GET", "/studies/", status, times=3)
    assert len(api.studies()) == 1
    fake.fail("GET", "/studies/", status, times=4)
    with pytest.raises(ProlificError, match="Fix:"):
        api.studies()


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_reading_is_not_repeated_after_a_refusal(api: ProlificApi, fake: FakeProlific, status: int) -> None:
    fake.fail("GET", "/studies/", status)
    with pytest.raises(ProlificError, match=f"status {status}"):
        api.studies()
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"), [(400, Refused), (429, Refused), (500, OutcomeUnknown), (None, OutcomeUnknown)]
)
def test_a_payment_is_sent_once_whatever_happens(
    api: ProlificApi, fake: FakeProlific, status: int | None, error: type[Exception]
) -> None:
    fake.fail("POST", "/pay/", status, headers={"Retry-After": "0"})
    with pytest.raises(error):
        api.pay_bonuses("batch0")
    assert len(fake.sent("POST", "/pay/")) == 1


@pytest.mark.parametrize(("status", "error"), [(300, OutcomeUnknown), (302, OutcomeUnknown), (408, OutcomeUnknown)])
def test_a_strange_reply_to_a_write_is_an_unknown_outcome(
    api: ProlificApi, fake: FakeProlific, status: int, error: type[Exception]
) -> None:
    fake.fail("POST", "/transition/", status, headers={"Location": "https://example.org/"})
    with pytest.raises(error):
        api.transition_study("a" * 24, "PAUSE")


def test_the_pause_is_the_one_that_prolific_names(
    api: ProlificApi, fake: FakeProlific, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    fake.fail("GET", "/studies/", 429, headers={"Retry-After": "7"})
    fake.fail("GET", "/studies/", 429, headers={"Retry-After": "86400"})
    api.studies()
    assert pauses == [7.0, 60.0]


def test_a_reply_that_is_not_json_is_an_error(api: ProlificApi, monkeypatch: pytest.MonkeyPatch) -> None:
    page = httpx.Response(200, text="<html>Sign in to the network</html>")
    monkeypatch.setattr(api._reader, "get", lambda *_, **__: page)
    with pytest.raises(ProlificError, match=r"not JSON.*Fix:"):
        api.studies()


@pytest.mark.parametrize("has_count", [True, False])
@pytest.mark.parametrize("n", [0, 1, 49, 50, 51, 100, 250])
def test_all_pages_are_read(
    api: ProlificApi, fake: FakeProlific, monkeypatch: pytest.MonkeyPatch, n: int, has_count: bool
) -> None:
    monkeypatch.setattr(module, "PAGE", 50)
    for number in range(n):
        fake.add_submission(f"sub-{number}", f"person-{number}")
    if not has_count:
        page = fake._page
        monkeypatch.setattr(fake, "_page", lambda *those: {**page(*those), "meta": {}})
    assert [one.submission for one in api.submissions("a" * 24)] == [f"sub-{number}" for number in range(n)]


@pytest.mark.parametrize("results", [None, {"a": 1}, [{"name": "x"}]])
def test_a_strange_list_is_an_error_and_not_an_empty_list(
    api: ProlificApi, fake: FakeProlific, monkeypatch: pytest.MonkeyPatch, results: object
) -> None:
    monkeypatch.setattr(fake, "_page", lambda *_: {"results": results})
    with pytest.raises(ProlificError, match=r"not a list. Fix:"):
        api.studies()


@pytest.mark.parametrize("listed", [[{"amount": 50}], ["fifty"], [None]])
def test_strange_bonuses_are_an_error(api: ProlificApi, fake: FakeProlific, listed: list[object]) -> None:
    fake.add_submission("sub", "anna")
    fake.submissions["sub"]["bonus_payments"] = listed
    with pytest.raises(ProlificError, match=r"not numbers, so nothing was paid. Fix:"):
        api.bonuses("sub")


@pytest.mark.parametrize("some_id", ["", "../users/me", "a/b", "a?b", "ä"])
def test_an_id_cannot_lead_to_another_address(api: ProlificApi, fake: FakeProlific, some_id: str) -> None:
    with pytest.raises(ProlificError, match=r"not an id of Prolific. Fix:"):
        api.submission(some_id)
    assert fake.requests == []


def test_no_error_and_no_log_contains_the_token(
    api: ProlificApi, fake: FakeProlific, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.fail("GET", "/studies/", 401, detail={"token": TOKEN, "line": "a\nb"})
    with pytest.raises(ProlificError) as refused:
        api.studies()
    assert TOKEN not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "check PROLIFIC_TOKEN" in str(refused.value)
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(api)


@pytest.mark.parametrize("token", ["a b", "line\nbreak", "tökén"])
def test_a_malformed_token_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", token)
    with pytest.raises(InputError, match="Fix: copy the token again") as refused, prolific_api():
        pass
    assert token not in str(refused.value)


@pytest.mark.parametrize("address", ["http://api.prolific.com", "ftp://localhost", "nonsense", "http://[::1"])
def test_the_token_is_sent_only_over_https_or_to_this_machine(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    monkeypatch.setenv("PROLIFIC_URL", address)
    with pytest.raises(InputError, match="Fix: unset PROLIFIC_URL"), prolific_api():
        pass


def test_the_default_address_is_prolifics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    monkeypatch.delenv("PROLIFIC_URL", raising=False)
    with prolific_api() as api:
        assert (str(api._writer.base_url), str(api._reader.base_url)) == ("https://api.prolific.com",) * 2
