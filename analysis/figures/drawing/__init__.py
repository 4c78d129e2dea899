"""Elements that all figures use: the sheet, axes, text, lines, and the styles of subjects."""
