"""The SQL gateway: sessions, each with a table environment in a process of its own."""
