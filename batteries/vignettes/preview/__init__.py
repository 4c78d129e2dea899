"""The preview of a battery: one HTML page, for reading the instances side by side before a participant does.

Everything on the page is counted from the items; nothing is said of a design because it was meant that way.

`page` puts together what the template `preview.html` shows: `counts` of words and of the right answers' places, the
`balance` of the counterbalance groups and its picture, the `matrix`, and the instances `side_by_side`. All of them use
`factors` (the order of items), `texts` (what is read, and what differs between two texts) and `wording`.
"""

from batteries.vignettes.preview.page import write_preview

__all__ = ["write_preview"]
