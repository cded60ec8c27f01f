"""Checkpoints, savepoints and what a job goes on from after a failure (design, sections 5 and 6)."""
