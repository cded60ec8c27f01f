"""Sources that make their records themselves."""
