"""``jdbc``: tables of databases."""
