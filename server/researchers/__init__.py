"""The pages for the researcher: sign-in, and the progress of the data collection."""
