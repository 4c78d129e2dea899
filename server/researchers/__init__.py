"""The researcher's side: sign-in, and the page on the progress of data collection."""
