"""The control plane: runs a job as a row of epochs, commits them, and answers for the job."""
