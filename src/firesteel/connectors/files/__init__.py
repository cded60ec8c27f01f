"""Files: reading, writing, and their formats."""
