"""Draws the pictures of these pages from what the examples do when they run."""
