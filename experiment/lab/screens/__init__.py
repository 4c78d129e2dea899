"""Every screen of the laboratory as an image, made without a window.

`layout/sheet` has the sizes that follow from the window's size. `trial`, `pages`, `message`, `form` and `fixation` make
the screens, and `layout/screen_image` is the result. `text/` sets letters into lines, and `layout/canvas` draws.
"""
