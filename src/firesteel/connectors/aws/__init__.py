"""Connectors for streams and queues of AWS; need the package boto3 (the extra ``kinesis``)."""
