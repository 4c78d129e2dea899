"""Pages to read, such as consent, instructions and debriefing. A long text becomes several pages."""

from collections.abc import Mapping, Sequence

from experiment.lab.screens.blackbox_diagram import DiagramPiece
from experiment.lab.screens.layout.buttons import Action, ButtonRows
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.markdown_pieces import Piece, pieces_of
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.markdown import Block, blocks_of
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph

_SMALLEST_ON_ONE_PAGE = 0.9
"""A text stays on one page if it fits in the usual font size multiplied by a factor from this number to 1."""


def pages(
    sheet: Sheet,
    texts: Mapping[str, str],
    actions: Sequence[Action],
    back: Action,
    onward: Action,
) -> list[ScreenImage]:
    """Draw texts. Each text starts on a new page.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    texts
        Markdown texts by file name, in reading order.
    actions
        The actions on the last page; the main action is the first.
    back, onward
        The actions that turn to the previous page, and to the next page.

    Returns
    -------
    list of ScreenImage
        The pages. All pages except the last have a button for `onward`. All pages except the first have a button for
        `back`.

    Raises
    ------
    InputError
        If a text contains an image.
    """
    blocks = [blocks_of(name, text) for name, text in texts.items()]
    one_page = _on_one_page(sheet, blocks[0], _foot_px(sheet, actions, 1)) if len(blocks) == 1 else None
    foot_px = max(_foot_px(sheet, row, 2) for row in ([*actions, back], [onward, back]))
    sheets_of_pieces = [one_page] if one_page else [page for each in blocks for page in _paged(sheet, each, foot_px)]
    pictures = []
    for number, pieces in enumerate(sheets_of_pieces, start=1):
        canvas = Canvas(sheet)
        (side_px, above_px), (width_px, _) = sheet.margins_px, sheet.inside_px
        y, left = above_px, side_px + (width_px - sheet.column_px) // 2
        for piece in pieces:
            piece.draw(canvas, left, y)
            y += piece.height_px + piece.gap_px
        buttons = [*actions] if number == len(sheets_of_pieces) else [onward]
        if number > 1:
            buttons.append(back)
        _draw_foot(canvas, left, buttons, number, len(sheets_of_pieces))
        draw_escape_hint(canvas)
        pictures.append(canvas.picture())
    return pictures


_AnyPiece = Piece | DiagramPiece


def _paged(sheet: Sheet, blocks: list[Block], foot_px: int) -> list[list[_AnyPiece]]:
    """Return the pieces of each page. Use one page if the text fits in smaller letters, otherwise several pages."""
    whole = _on_one_page(sheet, blocks, foot_px)
    if whole is not None:
        return [whole]
    return _filled([_pieces(sheet, block, sheet.body_px) for block in blocks], sheet.inside_px[1] - foot_px)


def _on_one_page(sheet: Sheet, blocks: list[Block], foot_px: int) -> list[_AnyPiece] | None:
    """Return the pieces of a text in the largest font size in which one page is enough.

    Return None if one page is not enough in any font size.
    """
    for size_px in range(sheet.body_px, round(_SMALLEST_ON_ONE_PAGE * sheet.body_px) - 1, -1):
        filled = _filled([_pieces(sheet, block, size_px) for block in blocks], sheet.inside_px[1] - foot_px)
        if len(filled) <= 1:
            return filled[0] if filled else []
    return None


def _filled(blocks: list[Sequence[_AnyPiece]], height_px: int) -> list[list[_AnyPiece]]:
    """Fill pages from the top. A heading stays with the piece after it, and a diagram with the piece before it."""
    groups: list[list[_AnyPiece]] = []
    for pieces in blocks:
        for piece in pieces:
            before = groups[-1][-1].block if groups else None
            if before and (before.heading or (piece.block.diagram and not before.diagram)):
                groups[-1].append(piece)
            else:
                groups.append([piece])
    filled: list[list[_AnyPiece]] = []
    room_px = 0
    for group in groups:
        needed_px = sum(piece.height_px + piece.gap_px for piece in group)
        if not filled or needed_px - group[-1].gap_px > room_px:
            filled.append([])
            room_px = height_px
        filled[-1].extend(group)
        room_px -= needed_px
    return filled


def _pieces(sheet: Sheet, block: Block, size_px: int) -> Sequence[_AnyPiece]:
    """Return the pieces of a block. A diagram is one piece."""
    if block.diagram is not None:
        return [DiagramPiece(sheet, block, block.diagram, size_px, round(0.7 * size_px))]
    return pieces_of(sheet, block, size_px, sheet.column_px)


def _foot_px(sheet: Sheet, actions: Sequence[Action], n_pages: int) -> int:
    """Return the height in pixels of the bottom of a page: actions, page number and the space above them."""
    rows = ButtonRows(sheet, actions, sheet.body_px, _buttons_px(sheet, n_pages))
    return 2 * round(1.4 * sheet.body_px) + rows.height_px


def _page_number(sheet: Sheet, number: int, n_pages: int) -> Paragraph:
    words = sheet.words.say("page_of", page=number, pages=n_pages)
    return paragraph(sheet, words, round(0.85 * sheet.body_px), sheet.column_px)


def _buttons_px(sheet: Sheet, n_pages: int) -> int:
    """Return the width in pixels for rows of buttons.

    If there are several pages, this width leaves space for the page number.
    """
    if n_pages == 1:
        return sheet.column_px
    return sheet.column_px - _page_number(sheet, 10, 10).width_px - sheet.body_px


def _draw_foot(canvas: Canvas, left: int, actions: Sequence[Action], number: int, n_pages: int) -> None:
    """Draw the actions. If there are several pages, draw the page number beside the actions."""
    sheet = canvas.sheet
    (_, above_px), (_, height_px) = sheet.margins_px, sheet.inside_px
    is_ltr, buttons_px = sheet.direction == "ltr", _buttons_px(sheet, n_pages)
    rows = ButtonRows(sheet, actions, sheet.body_px, buttons_px)
    top = above_px + height_px - rows.height_px
    rule_top = top - round(0.8 * sheet.body_px)
    canvas.fill((left, rule_top, left + sheet.column_px, rule_top + sheet.px(1)), Colour.LINE)
    rows.draw(canvas, left if is_ltr else left + sheet.column_px - buttons_px, top)
    if n_pages > 1:
        text = _page_number(sheet, number, n_pages)
        end = left + sheet.column_px - text.width_px if is_ltr else left
        canvas.write(text, end, top + max(0, (rows.height_px - text.height_px) // 2), text.width_px, Colour.INK_SOFT)
