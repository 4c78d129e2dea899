"""Text on a screen: fonts, Markdown, line breaks, and scripts written from right to left."""
