"""``elasticsearch-7`` and its relatives: indices that tables are written to."""
