"""The endpoints. Another one is a row in the ``ROUTES`` of one of these modules."""
