"""Tables that a session of Spark knows, and results that become DataFrames of it."""
