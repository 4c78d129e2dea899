"""Parts that all figures use: the empty sheet, axes, text, lines, and the styles of subjects."""
