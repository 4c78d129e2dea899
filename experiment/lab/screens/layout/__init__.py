"""Parts of screens: sheet, canvas, columns, buttons, and the finished image."""
