import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from string import ascii_lowercase
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from batteries.vignettes.perturbation import Perturbation, perturb

letters = st.sampled_from("aaabbbcdexyz")
others = st.sampled_from("AEé \n\t\u00a0.1\x00ß")
pieces_of_text = st.lists(st.text(letters | others | st.just(" "), max_size=80), max_size=4)
proportions = st.floats(0, 1)
numbers = st.integers(0, 26)
seeds = st.integers(0, 2**64)

STORY = ("One day, Metin was playing cards with you in the dining room.\n\nMetin showed you the teacup.", "Why?")


def perturbed(pieces: Sequence[str], seed: int = 1, **noise: float) -> tuple[str, ...]:
    return perturb(pieces, Perturbation.model_validate(noise), random.Random(seed))


def changes(before: Sequence[str], after: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the replacements of each small letter that changed, with their counts."""
    assert [len(piece) for piece in before] == [len(piece) for piece in after]
    found: dict[str, Counter[str]] = {}
    for old, new in zip("".join(before), "".join(after), strict=True):
        if old != new:
            found.setdefault(old, Counter())[new] += 1
    return found


def letters_in(pieces: Sequence[str]) -> Counter[str]:
    return Counter(character for character in "".join(pieces) if character in ascii_lowercase)


@given(pieces_of_text, proportions, seeds)
def test_a_share_of_the_single_spaces_is_doubled_and_nothing_else_changes(
    pieces: list[str], proportion: float, seed: int
) -> None:
    after = perturbed(pieces, seed, spacing_proportion=proportion)
    assert [piece.replace(" ", "") for piece in after] == [piece.replace(" ", "") for piece in pieces]
    gaps_before, gaps_after = (
        list(chain.from_iterable(re.findall(" +", piece) for piece in text)) for text in (pieces, after)
    )
    assert len(gaps_before) == len(gaps_after)
    doubled = 0
    for old, new in zip(gaps_before, gaps_after, strict=True):
        assert new == old or (old, new) == (" ", "  ")
        doubled += new != old
    assert doubled == round(gaps_before.count(" ") * proportion)


@given(pieces_of_text, numbers, proportions, seeds)
def test_a_share_of_each_misspelt_letter_becomes_one_other_letter(
    pieces: list[str], number: int, proportion: float, seed: int
) -> None:
    found = changes(pieces, perturbed(pieces, seed, spelling_letters=number, spelling_proportion=proportion))
    assert len(found) <= number
    for letter, replacements in found.items():
        assert letter in ascii_lowercase
        assert len(replacements) == 1
        assert set(replacements) <= set(ascii_lowercase) - {letter}
        assert replacements.total() == round(letters_in(pieces)[letter] * proportion)


@given(pieces_of_text, numbers, proportions, seeds)
def test_a_share_of_each_capitalised_letter_becomes_a_capital(
    pieces: list[str], number: int, proportion: float, seed: int
) -> None:
    found = changes(
        pieces, perturbed(pieces, seed, capitalisation_letters=number, capitalisation_proportion=proportion)
    )
    assert len(found) <= number
    for letter, replacements in found.items():
        assert letter in ascii_lowercase
        assert replacements == {letter.upper(): round(letters_in(pieces)[letter] * proportion)}


@given(pieces_of_text, numbers, seeds, st.sampled_from(["spelling", "capitalisation"]))
def test_the_requested_number_of_letters_changes_or_all_letters(
    pieces: list[str], number: int, seed: int, kind: str
) -> None:
    found = changes(pieces, perturbed(pieces, seed, **{f"{kind}_letters": number, f"{kind}_proportion": 1}))
    assert len(found) == min(number, len(letters_in(pieces)))
    assert {letter: replaced.total() for letter, replaced in found.items()} == {
        letter: letters_in(pieces)[letter] for letter in found
    }


@given(pieces_of_text, numbers, numbers, proportions, seeds)
def test_a_seed_gives_one_text_and_a_proportion_of_zero_changes_nothing(
    pieces: list[str], misspelt: int, capitalised: int, proportion: float, seed: int
) -> None:
    noise = {"spelling_letters": misspelt, "capitalisation_letters": capitalised}
    assert perturbed(pieces, seed, **noise, spacing_proportion=proportion) == perturbed(
        pieces, seed, **noise, spacing_proportion=proportion
    )
    nothing = {"spelling_proportion": 0, "capitalisation_proportion": 0, "spacing_proportion": 0}
    assert perturbed(pieces, seed, **noise | nothing) == tuple(pieces)
    assert perturbed(pieces, seed) == tuple(pieces)


@given(pieces_of_text, numbers, numbers, seeds)
def test_letters_are_drawn_over_the_pieces_together(
    pieces: list[str], misspelt: int, capitalised: int, seed: int
) -> None:
    noise = {"spelling_letters": misspelt, "capitalisation_letters": capitalised}
    assert "".join(perturbed(pieces, seed, **noise)) == perturbed(["".join(pieces)], seed, **noise)[0]


def test_spaces_on_both_sides_of_a_piece_boundary_are_single() -> None:
    assert perturbed(["one ", " two", "  three four"], spacing_proportion=1) == ("one  ", "  two", "  three  four")


def test_a_share_is_rounded_half_to_even() -> None:
    def doubled(spaces: int) -> int:
        text = "a" + " a" * spaces
        return len(perturbed([text], spacing_proportion=0.25)[0]) - len(text)

    assert [doubled(spaces) for spaces in (2, 6, 10, 14)] == [0, 2, 2, 4]


def test_kinds_together_misspell_first_then_capitalise_then_double_spaces() -> None:
    noise = {"spelling_letters": 26, "spelling_proportion": 1}
    (misspelt,) = perturbed(["a a"], **noise)
    letter = misspelt[0]
    assert letter != "a"
    noise |= {"capitalisation_letters": 26, "capitalisation_proportion": 1, "spacing_proportion": 1}
    assert perturbed(["a a"], **noise) == (f"{letter.upper()}  {letter.upper()}",)


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        (
            {"spacing_proportion": 0.5},
            "One  day, Metin  was playing  cards with  you in the  dining room.\n\nMetin  showed  you  the teacup.",
        ),
        (
            {"spelling_letters": 5},
            "One day, Meuin was playing cards with you in the dinang room.\n\nMetin showed you the teacup.",
        ),
        (
            {"capitalisation_letters": 5},
            "One day, MeTIn was playIng carDs wITh yOU in the DInIng roOm.\n\nMeTIn shOweD yOU The Teacup.",
        ),
    ],
)
def test_the_perturbation_of_a_seed_never_changes(noise: dict[str, float], text: str) -> None:
    # Fixed: a battery's digest depends on these texts, on every machine and version of Python.
    assert perturbed(STORY, **noise)[0] == text


def test_only_the_method_random_is_called() -> None:
    only_random = cast(random.Random, SimpleNamespace(random=random.Random(1).random))
    noise = Perturbation(spelling_letters=15, capitalisation_letters=15, spacing_proportion=0.5)
    assert perturb(STORY, noise, only_random) == perturb(STORY, noise, random.Random(1))


def test_every_position_is_equally_likely() -> None:
    n_seeds = 4_000
    doubled = Counter(
        place
        for seed in range(n_seeds)
        for place, gap in enumerate(re.findall(" +", perturbed(["a b c d e f"], seed, spacing_proportion=0.4)[0]))
        if len(gap) == 2
    )
    capitals: Counter[str] = Counter()
    misspellings: Counter[str] = Counter()
    for seed in range(n_seeds):
        capitals.update(list(changes(["abcde"], perturbed(["abcde"], seed, capitalisation_letters=2))))
        misspellings.update(perturbed(["k"], seed, spelling_letters=1, spelling_proportion=1)[0])
    for counts, expected in ((doubled, 0.4), (capitals, 0.4), (misspellings, 1 / 25)):
        assert len(counts) == round(counts.total() / n_seeds / expected)
        for count in counts.values():
            assert abs(count - n_seeds * expected) < 4 * (n_seeds * expected * (1 - expected)) ** 0.5


def test_a_perturbation_changes_nothing_by_default() -> None:
    assert Perturbation().is_none
    assert Perturbation(spelling_letters=5, spelling_proportion=0).is_none
    assert not Perturbation(spacing_proportion=0.25).is_none
    assert not Perturbation(spelling_letters=5).is_none
    assert not Perturbation(capitalisation_letters=5).is_none


@pytest.mark.parametrize(
    "noise",
    [
        {"spacing_proportion": 1.1},
        {"spacing_proportion": float("nan")},
        {"spelling_letters": 27},
        {"spelling_letters": -1},
        {"spelling_letters": 2.5},
        {"capitalisation_proportion": -0.1},
        {"capitals": 5},
    ],
)
def test_an_invalid_perturbation_is_refused(noise: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Perturbation.model_validate(noise)
