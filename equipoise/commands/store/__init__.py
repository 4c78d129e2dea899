"""The commands on a study's store: the store itself, slots, panel ids, revisions, exclusions, withdrawals."""
