"""The preview of a battery: one HTML page that shows the instances side by side.

All numbers on the page are counted from the items. They are not copied from the design.

`page` fills the template `preview.html`. `counts` counts words and the positions of the right option. `balance` checks
the counterbalance groups, and `matrix` draws these groups. `side_by_side` arranges the instances. `pictures` makes
small copies of pictures. The modules use `factors` (the order of items), `texts` (the texts of items and the
differences between texts) and `wording`.
"""

from batteries.vignettes.preview.page import write_preview

__all__ = ["write_preview"]
