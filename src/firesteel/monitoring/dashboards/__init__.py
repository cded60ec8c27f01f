"""Dashboards that come with Firesteel, as files."""
