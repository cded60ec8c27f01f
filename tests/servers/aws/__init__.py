"""Kinesis, Firehose and SQS as moto's server speaks them, corrected where it differs from AWS."""
