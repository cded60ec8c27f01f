"""Streams and queues of AWS: needs the package boto3 (``pip install 'firesteel[kinesis]'``)."""
