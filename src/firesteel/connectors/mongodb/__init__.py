"""Collections of MongoDB: needs the package pymongo (``pip install 'firesteel[mongodb]'``)."""
