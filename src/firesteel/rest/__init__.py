"""The REST API: Flink 2.3's, field by field, and additions of ours under ``/firesteel/v1``.

``routes.py`` has what a route is, ``handlers/`` the table of them, ``messages/`` one struct for each body,
``answers/`` makes them of the views of jobs. Handlers know a cluster by the protocol in ``cluster.py`` alone.
``docs/rest.md`` lists the endpoints and the fields that have no value here.
"""
