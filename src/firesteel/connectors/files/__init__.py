"""Connectors for files: sources, sinks and their formats."""
