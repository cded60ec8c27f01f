"""Sources one after the other."""
