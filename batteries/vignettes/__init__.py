"""Vignette batteries: story templates in, controlled instances out; method and format of VIGNET (Prunty et al., 2025).

`template_set` reads a folder of `templates` and `tables`; `check` finds their mistakes; `build` makes the instances
that a `spec` asks for, from `labels` drawn for each variant and texts compiled by `markup`, corrected by `grammar` and
spoilt by `perturb`; `published_csv` and `exports` carry a battery to and from other programs; `preview` shows it.
"""
