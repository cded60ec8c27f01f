"""The bodies of requests and answers: one frozen struct for each, with the field names of Flink 2.3.

What the recorded answers of a real Flink show counts, not its OpenAPI file. A field of type ``UnsetType`` is
left out when there is nothing to say, one of type ``| None`` is null.
"""
