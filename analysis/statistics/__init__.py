"""Statistics: functions of numbers that return named numbers. They do not depend on studies, plans or files."""
