"""The commands for a study's store: copies of the store, slots, panel ids, revisions, exclusions, withdrawals."""
