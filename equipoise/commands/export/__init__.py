"""`equipoise export`: the data of a study as a folder of files for journals, archives and other programs."""
