"""Statistics: functions that compute results from numbers. The functions do not use studies, plans or files."""
