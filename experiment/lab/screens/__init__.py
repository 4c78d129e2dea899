"""Every screen of the laboratory as an image, made without a window.

`sheet` has the measures that follow from the window's size; `trial`, `pages`, `message`, `form` and `fixation` make
the screens; `picture` says what comes out. Below them, `fonts`, `shaping` and `wrapping` bring letters onto lines, and
`canvas` draws.
"""
