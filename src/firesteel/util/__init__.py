"""PyFlink's ``pyflink.util``: exceptions that programs may catch."""
