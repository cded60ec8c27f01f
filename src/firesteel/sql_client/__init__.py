"""The SQL client: statements are typed or read from a file, run here or by a SQL gateway."""
