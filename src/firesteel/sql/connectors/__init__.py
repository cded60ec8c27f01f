"""What tables are read from and written to: one factory for each connector, one for each format.

``factory.py`` has the records and the check of options; a module here makes sources, targets and lookups of
the options of a table. They give and take ``Columns``: rows are never made where a file or a message can
become columns at once.
"""
