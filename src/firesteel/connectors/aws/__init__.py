"""Streams and queues of AWS: needs the package boto3 (the extra ``kinesis``)."""
