"""Every screen of the laboratory as an image, made without a window.

`trial`, `pages`, `message` and `form` make the screens. Each screen is a `ScreenImage` (`layout/screen_image`).
`layout/sheet` computes all sizes from the size of the window. `text/` breaks text into lines. `layout/canvas` draws.
"""
