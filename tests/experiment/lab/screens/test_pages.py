"""Pages and messages: they show the complete text in order, and nothing is cut off."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from markdown_it import MarkdownIt
from PIL import ImageColor

from batteries.errors import InputError
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.screens.pages import pages
from experiment.lab.screens.text.fonts import DEJAVU
from experiment.lab.screens.text.markdown import Block, blocks_of
from experiment.lab.screens.text.paragraphs import Span
from experiment.load_study import load_study
from experiment.records import Source
from experiment.study.blackbox_diagrams import diagram_of, is_diagram, steps_of
from experiment.study.palette import PALETTES
from experiment.texts import texts_in
from tests.paths import STUDIES

LIGHT = PALETTES["light"]
SIZES = [(1024, 768), (1920, 1080), (3840, 2160)]
BACK, NEXT = Action("back", "Back", "←"), Action("next", "Next", "→")
CONSENT = (Action("agree", "I agree, start", "1"), Action("decline", "I do not agree", "2"))


def sheet_of(size_px=(1024, 768), language="en"):
    return Sheet(size_px, DEJAVU, texts_in(language, {}))


def overlap(one, other):
    return max(one[0], other[0]) < min(one[2], other[2]) and max(one[1], other[1]) < min(one[3], other[3])


def assert_is_in_order(picture, sheet):
    (width, height), (side_px, above_px) = sheet.size_px, sheet.margins_px
    assert picture.image.size == sheet.size_px
    parts = (*picture.written, *picture.regions)
    in_margin = [part for part in parts if part.box_px[1] >= height - above_px]
    assert len(in_margin) == (2 if sheet.escape_hint else 0), "the hint at the escape key, and its region"
    for part in parts:
        (left, top, right, bottom), foot = part.box_px, height if part in in_margin else height - above_px
        assert side_px <= left < right <= width - side_px and above_px <= top < bottom <= foot
    for parts in (picture.written, picture.regions):
        assert not any(overlap(one.box_px, other.box_px) for one, other in combinations(parts, 2))
    buttons = [region.box_px for region in picture.regions if region not in in_margin]
    assert all(bottom - top >= 32 * height / 768 for _, top, _, bottom in buttons)


def names(picture):
    return [region.name for region in picture.regions]


def text_of(*pictures):
    return " ".join(written.text for picture in pictures for written in picture.written)


@pytest.mark.parametrize("size_px", SIZES)
@pytest.mark.parametrize("study", ["blackbox-predict", "intuition-single", "intuition-double"])
def test_all_pages_of_the_shipped_studies_can_be_read(study, size_px):
    loaded = load_study(STUDIES / study)
    sheet = replace(Sheet.of(loaded, size_px), rules_hint="")  # The program shows this hint in trials only.
    for name in loaded.definition.pages:
        text = loaded.page(name, Source.LAB)
        drawn = pages(sheet, {name: text}, CONSENT, BACK, NEXT)
        diagrams = [token for token in MarkdownIt("commonmark").parse(text) if is_diagram(token)]
        assert len(drawn) <= 2 + len(diagrams)
        for picture in drawn:
            assert_is_in_order(picture, sheet)
        plain = text
        for token in diagrams:
            plain = plain.replace(f"```blackbox\n{token.content}```", "")
            diagram = diagram_of(token, STUDIES / study / name)
            for sentence in (diagram.caption, *(step.sentence for step in steps_of(diagram, sheet.words))):
                assert set(sentence.split()) <= set(text_of(*drawn).split())
        plain = plain.replace("*", "").replace("#", "").replace("- ", "").replace("_", "")
        shown, position = text_of(*drawn), 0
        for word in plain.split():
            position = shown.index(word, position)  # All words, in order.


LONG = "\n\n".join(f"## Part {part}\n\n" + f"words of part {part} to read " * 30 for part in range(12))


def test_a_long_text_becomes_several_pages_that_can_be_turned():
    sheet = sheet_of()
    drawn = pages(sheet, {"consent.md": LONG}, CONSENT, BACK, NEXT)
    assert len(drawn) > 3
    assert names(drawn[0]) == ["next"]
    assert names(drawn[1]) == ["next", "back"]
    assert names(drawn[-1]) == ["agree", "decline", "back"]
    for number, picture in enumerate(drawn, start=1):
        assert_is_in_order(picture, sheet)
        assert f"Page {number} of {len(drawn)}" in text_of(picture)
    words = text_of(*drawn).split()
    assert sum(word == "words" for word in words) == 12 * 30


def test_no_heading_is_alone_at_the_bottom_of_a_page():
    for extra in range(0, 12, 2):
        text = "begin of the text\n\n" * extra + LONG
        for picture in pages(sheet_of(), {"consent.md": text}, CONSENT, BACK, NEXT):
            lines = [written.text for written in picture.written]
            last = max(
                number for number, line in enumerate(lines) if line.startswith(("Part", "words", "begin", "read"))
            )
            assert not lines[last].startswith("Part")


def test_no_single_line_of_a_paragraph_is_alone_on_a_page():
    paragraph = "word " * 150
    for extra in range(0, 8, 2):
        text = "begin\n\n" * extra + "\n\n".join(paragraph for _ in range(8))
        drawn = pages(sheet_of(), {"a.md": text}, [NEXT], BACK, NEXT)
        for picture in drawn:
            body = [written for written in picture.written if written.text.startswith("word")]
            line_px = body[1].box_px[1] - body[0].box_px[1]
            assert line_px > 0
            gaps = [b.box_px[1] - a.box_px[1] for a, b in pairwise(body)]
            runs = [1]
            for gap in gaps:
                runs = [*runs[:-1], runs[-1] + 1] if gap <= min(gaps) + 1 else [*runs, 1]
            assert 1 not in runs


def test_each_text_begins_on_a_new_page():
    drawn = pages(sheet_of(), {"one.md": "# One", "two.md": "# Two"}, [NEXT], BACK, NEXT)
    assert [picture.written[0].text for picture in drawn] == ["One", "Two"]


def test_a_text_of_one_page_has_no_page_number_and_no_back_action():
    (picture,) = pages(sheet_of(), {"one.md": "# One"}, CONSENT, BACK, NEXT)
    assert names(picture) == ["agree", "decline"]
    assert text_of(picture) == "One I agree, start 1 I do not agree 2"


def test_a_text_slightly_too_long_for_a_page_gets_smaller_letters():
    heights = set()
    for n_lines in range(14, 26):
        text = "\n\n".join(f"line {line}" for line in range(n_lines))
        drawn = pages(sheet_of(), {"a.md": text}, [NEXT], BACK, NEXT)
        heights |= {(len(drawn), drawn[0].written[0].box_px[3] - drawn[0].written[0].box_px[1])}
    assert len([height for n_pages, height in heights if n_pages == 1]) > 1
    assert len({height for n_pages, height in heights if n_pages > 1}) == 1


def test_an_empty_text_is_an_empty_page():
    (picture,) = pages(sheet_of(), {"one.md": ""}, [NEXT], BACK, NEXT)
    assert names(picture) == ["next"]


def test_markdown_becomes_blocks():
    text = """# Title

Some *fine* **bold** `code` and a [link](https://example.org).

3. three
4. four

   - inner

> quoted
> further

    x = 1

---

<b>shown</b> & kept<br>
"""
    assert blocks_of("a.md", text) == [
        Block((Span("Title", "bold"),), heading=1),
        Block(
            (
                Span("Some "),
                Span("fine", "italic"),
                Span(" "),
                Span("bold", "bold"),
                Span(" "),
                Span("code", "mono"),
                Span(" and a "),
                Span("link"),
                Span(" (https://example.org)"),
                Span("."),
            )
        ),
        Block((Span("three"),), indent=1, marker="3."),
        Block((Span("four"),), indent=1, marker="4."),
        Block((Span("inner"),), indent=2, marker="•"),
        Block((Span("quoted"), Span(" "), Span("further")), quotes=1),
        Block((Span("x = 1", "mono"),)),
        Block(),
        Block((Span("<b>shown</b> & kept<br>"),)),
    ]


def test_a_link_whose_text_is_its_address_is_written_once():
    (block,) = blocks_of("a.md", "Write to <a@example.org> or <https://example.org>.")
    assert "".join(span.text for span in block.spans) == "Write to a@example.org or https://example.org."


def test_a_picture_in_a_page_is_refused_with_the_name_of_the_file():
    with pytest.raises(InputError, match=r"consent\.md: this text contains the image `brain\.png`\. .* text only"):
        pages(sheet_of(), {"consent.md": "See ![brain](brain.png)"}, CONSENT, BACK, NEXT)


def test_pages_of_a_study_from_right_to_left_begin_at_the_right():
    sheet = sheet_of(language="ar")
    text = "# عنوان\n\nنص **مهم** للقراءة\n\n1. أولًا\n2. ثانيًا\n\n- نقطة"
    (picture,) = pages(sheet, {"a.md": text}, CONSENT, BACK, NEXT)
    assert_is_in_order(picture, sheet)
    right = max(written.box_px[2] for written in picture.written)
    assert picture.written[0].box_px[2] == right
    agree, decline = (region.box_px for region in picture.regions)
    assert agree[0] > decline[2]


ESCAPE = (
    Action("stay", "Stay in the study", "1"),
    Action("save", "Save my answers and leave", "2"),
    Action("delete", "Leave and delete my answers", "3"),
)


@pytest.mark.parametrize("size_px", SIZES)
@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_a_message_shows_its_actions(size_px, language):
    sheet = sheet_of(size_px, language)
    say = sheet.words.say
    labels = (say("leave_stay"), say("continue"), say("leave_confirm"))
    actions = [Action(action.name, label, action.key) for action, label in zip(ESCAPE, labels, strict=True)]
    picture = message(sheet, say("leave_title"), [say("leave_explained")], actions)
    assert_is_in_order(picture, sheet)
    assert names(picture) == ["stay", "save", "delete"]
    assert all(word in text_of(picture).split() for label in labels for word in label.split())


@pytest.mark.parametrize("size_px", SIZES)
@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_the_page_that_deletes_answers_fits_every_screen(size_px, language):
    sheet = sheet_of(size_px, language)
    say = sheet.words.say
    words = [say("lab_delete_answers", number=1000), say("lab_leave_earlier", number=10), say("lab_delete_final")]
    words.append(say("lab_delete_type", word=say("lab_delete_word")))
    actions = [Action("submit", say("leave_confirm"), "Enter"), Action("stay", say("leave_stay"), "Esc")]
    for typed in ("", say("lab_delete_word"), "longer than the field " * 20):
        picture = message(sheet, say("leave_confirm"), words, actions, typed)
        assert_is_in_order(picture, sheet)
        assert names(picture) == ["submit", "stay"]
        assert set(" ".join([*words, *typed.split()[-1:]]).split()) <= set(text_of(picture).split())


@pytest.mark.parametrize("size_px", [(1024, 768), (1366, 768), (1920, 1080), (1920, 1200), (2560, 1440), (3840, 2160)])
@pytest.mark.parametrize("study", ["blackbox-predict", "intuition-single", "intuition-double"])
def test_whether_a_consent_is_one_page_does_not_depend_on_the_screen(study, size_px):
    loaded = load_study(STUDIES / study)
    assert (
        len(
            pages(Sheet.of(loaded, size_px), {"consent.md": loaded.page("consent.md", Source.LAB)}, CONSENT, BACK, NEXT)
        )
        == 1
    )


def test_more_than_two_actions_are_a_list_on_every_screen():
    for size_px in SIZES:
        boxes = [region.box_px for region in message(sheet_of(size_px), "Leave?", [], ESCAPE).regions]
        assert len({left for left, *_ in boxes}) == 1
        assert all(one[3] <= other[1] for one, other in pairwise(boxes))


def test_only_the_main_action_is_filled():
    picture = message(sheet_of(), "Leave?", [], ESCAPE)
    fills = [picture.image.getpixel((box[0] + 8, box[1] + 8)) for box in (region.box_px for region in picture.regions)]
    assert fills == [ImageColor.getrgb(colour) for colour in (LIGHT.accent, LIGHT.paper, LIGHT.paper)]


def test_a_long_message_is_refused_rather_than_cut_off():
    with pytest.raises(InputError, match="the message 'Title' does not fit the screen"):
        message(sheet_of(), "Title", ["words " * 3000])


def test_a_label_that_is_longer_than_its_row_is_broken():
    sheet = sheet_of()
    picture = message(sheet, "Title", [], [Action("go", "a label of many words " * 12, "Enter")])
    assert_is_in_order(picture, sheet)
