"""The commands of `equipoise coding`: coding studies, in which coders code the open answers of a study."""
