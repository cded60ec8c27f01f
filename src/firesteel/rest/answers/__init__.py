"""Makes the bodies of answers of the views of jobs: functions of plain data, without a server."""
