"""The functions of SQL: what there is to know of each, and what computes it."""
