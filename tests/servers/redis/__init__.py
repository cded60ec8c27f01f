"""A real Redis server, and lookups in it."""
