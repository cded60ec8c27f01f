"""From sqlglot trees to the logical algebra: names, scopes, types."""
