"""Lookups in Redis."""
