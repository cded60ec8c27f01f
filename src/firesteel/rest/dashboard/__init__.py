"""The dashboard: files for a browser (``web/``), which read the API as any other client does.

``files.py`` has the files, of this package or of a jar with Flink's dashboard; ``pages.py`` answers with
them; ``sessions.py`` lets a browser in without credentials in each request. See ``docs/dashboard.md``.
"""
