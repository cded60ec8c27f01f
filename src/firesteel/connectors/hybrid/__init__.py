"""Source that reads several sources in sequence."""
