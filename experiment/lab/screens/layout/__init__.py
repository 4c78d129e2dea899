"""Parts of screens: sizes and fonts (the sheet), canvas, columns, buttons, and the finished image."""
