"""PyFlink's ``pyflink.util``: the errors that its programs may catch."""
