"""The forms in which values last: plain ones of state, and the engine's own in checkpoints and savepoints."""
