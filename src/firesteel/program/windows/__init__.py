"""Windows, and what assigns, fires and thins them."""
