"""What all figures are drawn with: the sheet, axes, text, lines, and the styles of subjects."""
