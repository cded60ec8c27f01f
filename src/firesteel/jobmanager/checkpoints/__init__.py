"""Checkpoints, savepoints and what a job goes on from after a failure."""
