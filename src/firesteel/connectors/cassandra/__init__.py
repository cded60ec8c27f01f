"""Tables of Apache Cassandra: needs the package cassandra-driver (``pip install 'firesteel[cassandra]'``)."""
