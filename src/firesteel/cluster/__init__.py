"""The session cluster: a dispatcher that runs no user code, and a process for each job (docs/cluster.md)."""
