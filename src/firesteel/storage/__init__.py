"""Storage formats: plain values in state, and the engine's own records in checkpoints and savepoints."""
