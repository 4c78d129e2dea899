"""`equipoise power`: simulate a study, to find its power or the number of participants that it needs."""
