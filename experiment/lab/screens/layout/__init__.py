"""What screens are drawn with: sheet, canvas, columns, buttons, and the finished image."""
