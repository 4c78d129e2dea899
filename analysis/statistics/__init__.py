"""Statistical functions of arrays and tables. They do not use studies, plans or files."""
