"""Streams and records that are kept for later jobs."""
