"""Elements of all figures: the sheet, axes, text, lines, and the styles of subjects."""
