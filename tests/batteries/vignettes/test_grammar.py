import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.vignettes.grammar import correct_articles, is_plural


@pytest.fixture(scope="module", autouse=True)
def inflect_is_loaded() -> None:
    correct_articles("a hour")  # so that the import does not count towards the deadline of the first example


def entries(table: str) -> list[str]:
    return re.split(r",\s+", " ".join(table.split()))


BEFORE_A_VOWEL = entries("""
    apple, umbrella, uncle, urn, usher, igloo, onion, oven, eye, heir, heirloom, hour, hourly, hourglass,
    honest, honour, honourable, uninvited, unusual, unimportant, unused, unissued, unironic, Englishman, Uber,
    Xbox, Yvonne, yttrium, ylang-ylang, mbira, Ewok, élite, Åland, Ørsted, œuvre, hors-d'oeuvre, O'Brien, LED,
    LEDs, LED-lit, MRI, MRIs, FAQ, NGO, SMS, HTML, HIV, SUV, SOS, MP, MP3, MSc, RAF, NYPD, EU, EU-funded, IQ,
    AI, HQ, FBI, 8, 80, 11, 18, 8th, 11th, 18th, 80s, 800, 8,000, 80,000, 8.5, 11:00, 11,000, 11000, 18,000,
    18000, 1800s, 1843, 1150, 11-year-old, 18-month, 8-foot, 11.30, 11,000,000, 08:30, 0800, 80p,
    eight-year-old, up-to-date, e-mail, L-shaped, S-bend, X-ray, x-axis, F-word, A-level, M4, H2O, R&B, F.B.I.,
    x, e, I'm
""")

BEFORE_A_CONSONANT = entries("""
    banana, hotel, historic, herb, hammer, house, humble, homage, user, unicorn, unique, usual, uniform,
    university, union, unit, used, useful, utensil, ukulele, uvula, unanimous, unanimity, unidirectional, uni,
    eulogy, euro, ewe, European, Ugandan, Uruguayan, Ukrainian, Utrecht, Ulysses, one, one-off, one-way,
    once-only, one's, onesie, oneself, used-car, ouija, yellow, yacht, year, NASA, NASA-led, NATO, UNESCO,
    UNICEF, UEFA, LEGO, RAM, ROM, SIM, FIFA, FTSE, STEM, UFO, UFOs, USB, TV, UK, US, UN, URL, UAE, NO, BSc, PhD,
    1, 10, 100, 110, 118, 180, 1,100, 1,800, 110,000, 180,000, 1,800,000, 1100000, 2, 7, 70, 0.8, 10:30, 1.8,
    118th, 1-in-8, T-shirt, U-turn, Q&A, u-bend, D-Day, B12, y, T, L'Oréal, houri
""")


@pytest.mark.parametrize("word", BEFORE_A_VOWEL)
def test_an_precedes_the_sound_of_a_vowel(word: str) -> None:
    for article in ("a", "an"):
        assert correct_articles(f"It was {article} {word} too many.") == f"It was an {word} too many."
        assert correct_articles(f"{article.capitalize()} {word} was there.") == f"An {word} was there."


@pytest.mark.parametrize("word", BEFORE_A_CONSONANT)
def test_a_precedes_the_sound_of_a_consonant(word: str) -> None:
    for article in ("a", "an"):
        assert correct_articles(f"It was {article} {word} too many.") == f"It was a {word} too many."
        assert correct_articles(f"{article.capitalize()} {word} was there.") == f"A {word} was there."


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("a 'hour' passed", "an 'hour' passed"),
        ("a “hour”, a ‘apple’", "an “hour”, an ‘apple’"),
        ('an "hotel"', 'a "hotel"'),
        ("a (honest) friend", "an (honest) friend"),
        ("a *old* house, a _odd_ one", "an *old* house, an _odd_ one"),
        ("a £8 ticket, an £10 ticket, a $11,000 car", "an £8 ticket, a £10 ticket, an $11,000 car"),
        ("a 11, a 8 and an 7,", "an 11, an 8 and a 7,"),
        ("(a apple)", "(an apple)"),
        ("'a apple a day'", "'an apple a day'"),
        ("they left—a hour late", "they left—an hour late"),
        ("a\thour, a  apple, a\u00a0egg", "an\thour, an  apple, an\u00a0egg"),
        ("a\nhour", "an\nhour"),
        ("such a one as a old man", "such a one as an old man"),
        ("a hors d'oeuvre", "an hors d'oeuvre"),
        ("an A in maths: a A", "an A in maths: an A"),
        ("a M.A. and an B.A.", "an M.A. and a B.A."),
    ],
)
def test_the_next_word_is_found_after_punctuation(text: str, mended: str) -> None:
    assert correct_articles(text) == mended


@pytest.mark.parametrize(
    "text",
    [
        "Plan A is better.",
        "Choose option A or option B.",
        "Vitamin A and vitamin E are good for you.",
        "The runner in lane A overtook the others.",
        "Team A always wins; type A individuals do, too.",
        "Choose a, b or c; option a or option e.",
        "Here a is an angle, and a and e are not.",
        "A is the first letter. A and E are vowels; “A or E?” (A of course.)",
        "Choose: A or B",
        "Answer: A\nExplanation: it is so.",
        "Answer: A\n\nExplanation: it is so.",
        "Which is it, a\n\nelephant or an owl?",
        "type-a others, w/a other, l'a other; the U.S.A always, DNA in cells, type-A others",
        "Anna an’t a's A's",
        "à une a_ option, panda umbrella, Canada always",
        "Write an or a before it; an and a are articles.",
        "The article “a” itself. A",
        "AN HOUR, AN HOTEL",
        "a – um – hotel",
        "",
    ],
)
def test_a_letter_that_is_not_an_article_is_unchanged(text: str) -> None:
    assert correct_articles(text) == text


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("A old man sat.", "An old man sat."),
        ("It rained. A old man sat! A owl? A eel… A ox", "It rained. An old man sat! An owl? An eel… An ox"),
        ("Then:  A owl.\nA eel.\n\n  A ox.", "Then:  An owl.\nAn eel.\n\n  An ox."),
        ("‘A owl,’ they said. “A eel!” (A ox.)", "‘An owl,’ they said. “An eel!” (An ox.)"),
        ("“It rained.” A owl. (They left.) A eel.", "“It rained.” An owl. (They left.) An eel."),
        ("It rained.\tA owl.\u00a0A eel.", "It rained.\tAn owl.\u00a0An eel."),
        ("An hotel. An user.", "A hotel. A user."),
        ("A 8 in 10 chance.", "An 8 in 10 chance."),
    ],
)
def test_a_capital_is_an_article_where_a_sentence_or_quotation_starts(text: str, mended: str) -> None:
    assert correct_articles(text) == mended


articles = st.sampled_from(["a", "an", "A", "An"])
words = st.sampled_from(["hour", "hotel", "8", "11,000", "LED", "and", "is", "a", "A", "“", "(", "–", "x-ray", "Anna"])
gaps = st.sampled_from([" ", "  ", "\n", "\n\n", ". ", ", ", "-", "'", "", '" ', ": "])
texts = st.lists(articles | words | gaps | st.text(max_size=3)).map("".join)


def without_forms(text: str) -> str:
    return re.sub(r"(?<!\w)([Aa])n?(?!\w)", r"\1", text)


@given(texts)
def test_nothing_but_articles_changes(text: str) -> None:
    assert without_forms(correct_articles(text)) == without_forms(text)


@given(texts)
def test_a_second_correction_changes_nothing(text: str) -> None:
    mended = correct_articles(text)
    assert correct_articles(mended) == mended


@given(st.lists(st.tuples(articles, st.sampled_from(BEFORE_A_VOWEL + BEFORE_A_CONSONANT))))
def test_the_original_form_of_an_article_does_not_matter(phrases: list[tuple[str, str]]) -> None:
    other = {"a": "an", "an": "a", "A": "An", "An": "A"}
    text = "".join(f"{article} {word}. " for article, word in phrases)
    turned = "".join(f"{other[article]} {word}. " for article, word in phrases)
    assert correct_articles(text) == correct_articles(turned)


SINGULAR = entries("""
    repair kit, box of chocolates, set of keys, roll of tape, bag with apples, bag full of apples, box set,
    table for two, letter from friends, guide to birds, book about trains, house on stilts, chain made of paper
    clips, stack of plates, glass, bus, minibus, dress, lens, contact lens, zoom-lens, chess, gas, cactus, iris, news,
    series, compass, atlas, canvas, mattress, address, tennis, physics, art history, economics, gymnastics,
    octopus, walrus, hibiscus, biceps, rhinoceros, thermos, hummus, chassis, trellis, innings, sheep, fish,
    aircraft, furniture, cutlery, information, opera, agenda, pavlova, specimen, ramen, cyclamen, James, Agnes,
    Thomas, Carmen, Los Angeles, Tunis, greengrocer's, butcher’s, GPS, DVD, umbrella, pair, repair, wine glass,
    passer-by, mother-in-law, press-up, six-pack, jack-in-the-box, merry-go-round, one, 1, 0.5, ONE
""")

PLURAL = entries("""
    pair of scissors, pair of garden shears, pair of gloves, pairs of socks, couple of friends, a pair of tongs,
    scissors, glasses, reading glasses, sunglasses, trousers, jeans, binoculars, pliers, tweezers, headphones,
    goggles, pyjamas, shorts, tongs, clothes, scales, boxes of tea, sets of keys, rolls of tape, bottles with
    corks, bags full of sand, buses, glasses of milk, lenses, irises, cups, photos, potatoes, knives, leaves,
    berries, keys, tulips, canvases, plastics, mice, children, grandchildren, teeth, dice, people, geese, feet,
    women, fishermen, police, cattle, criteria, cacti, gateaux, taxis, skis, jet-skis, kiwis, bikinis, menus, emus,
    plateaus, T-shirts, DVDs, CPUs, press-ups, passers-by, mothers-in-law, forget-me-nots, two, ten, twelve,
    twenty-one, one hundred, 80, 50, 1,000, 1.5
""")


@pytest.mark.parametrize("label", SINGULAR)
def test_the_pronoun_of_a_singular_label_is_it(label: str) -> None:
    assert not is_plural(label)


@pytest.mark.parametrize("label", PLURAL)
def test_the_pronoun_of_a_plural_label_is_they(label: str) -> None:
    assert is_plural(label)


@given(st.sampled_from([label for label in PLURAL if label[0].isalpha() and " " not in label]))
def test_a_container_of_several_things_is_singular(label: str) -> None:
    assert not is_plural(f"box of {label}")
    assert not is_plural(f"jar full of {label}")
    assert is_plural(f"boxes of {label}")


@given(st.text() | st.sampled_from(["", " ", "-", "-up", "of", " of tea", "’s", "s"]))
def test_every_label_is_singular_or_plural(label: str) -> None:
    assert is_plural(label) in {True, False}
