"""Topics of Apache Pulsar: needs the package pulsar-client (``pip install 'firesteel[pulsar]'``)."""
