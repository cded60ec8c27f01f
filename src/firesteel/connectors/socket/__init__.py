"""Text from a socket."""
