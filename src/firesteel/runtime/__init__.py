"""What runs inside a Python worker: operators, chains, gates, the watermark valve, the wire format.

Nothing here knows Spark; ``firesteel.spark`` feeds it rows and takes rows away.
"""
