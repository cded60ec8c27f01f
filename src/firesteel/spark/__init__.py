"""The only package that knows Spark: sessions, the plans of epochs and of jobs in real time, their tasks."""
