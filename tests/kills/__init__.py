"""Nothing is lost and nothing is doubled, shown by killing things on a Spark cluster.

``job.py`` is the one job, ``application.py`` a driver that runs it, ``strikes.py`` what is done to it
meanwhile, ``campaign.py`` many runs of each kind, ``soak.py`` the long form with a report.
"""
