"""The preview of a battery: one HTML page, for reading the instances side by side before a participant does.

Everything on the page is counted from the items, not taken from the design's specification.

`page` fills the template `preview.html`: `counts` of words and of the right answers' positions, the `balance` of the
counterbalance groups and its picture, the `matrix`, and the instances `side_by_side`. All of them use `factors` (the
order of items), `texts` (the texts of an item and the difference between two texts) and `wording`.
"""

from batteries.vignettes.preview.page import write_preview

__all__ = ["write_preview"]
