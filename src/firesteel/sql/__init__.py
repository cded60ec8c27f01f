"""Flink SQL: parser, catalog, binder, logical algebra, rules, physical plan and its operators on columns.

Programs come here through ``firesteel.table``. How the parts fit together: ``docs/design/sql.md``.
"""
