"""The preview of a battery: one HTML page that shows the instances side by side.

All numbers on the page are counted from the items, not read from the design's specification.

`page` fills the template `preview.html`. `counts` counts words and the positions of the right option. `balance` checks
the counterbalance groups, and `matrix` draws them. `side_by_side` arranges the instances. All these modules use
`factors` (the order of items), `texts` (the texts of an item, and their differences) and `wording`.
"""

from batteries.vignettes.preview.page import write_preview

__all__ = ["write_preview"]
