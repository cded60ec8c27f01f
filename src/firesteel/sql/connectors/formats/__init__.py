"""Formats of tables: bytes of messages and files to columns, and back."""
