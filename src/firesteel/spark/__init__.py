"""The only package that knows Spark: the session, the plan of an epoch, and running it."""
