"""What runs a physical plan in the tasks: operators that take and give columns."""
