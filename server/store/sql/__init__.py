"""The statements of both databases, a module for each subject, and the store that runs them."""
