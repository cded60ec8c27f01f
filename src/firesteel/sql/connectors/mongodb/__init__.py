"""``mongodb``: tables of collections."""
