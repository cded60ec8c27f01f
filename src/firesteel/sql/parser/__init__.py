"""Reading SQL: Flink's dialect of sqlglot, statements as plain data, positions of errors."""
