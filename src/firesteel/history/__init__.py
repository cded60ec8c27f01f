"""The history server: the dashboard and the REST API of jobs that have ended, read from their archives."""
