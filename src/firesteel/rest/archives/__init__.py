"""Archives of jobs that have ended: what a history server shows of them."""
