"""Metrics under Flink's names: made of the views of jobs, and given to reporters and the REST API.

Nothing here costs a job anything: its views are there whether somebody reads them or not.
"""
