"""Streams and records that are cached for later jobs."""
