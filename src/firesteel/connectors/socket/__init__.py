"""Source that reads text from a socket."""
