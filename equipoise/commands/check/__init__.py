"""`equipoise check`: a checklist before launch. Each module checks one subject and returns points of the checklist."""
