"""Which of several dispatchers of a cluster may act: one leader at a time, others stand by.

A *lease* (``lease.py``) is a small record that all candidates can read and replace by compare-and-set; where
it is kept is the only thing that differs between a shared directory (``directory.py``), ZooKeeper
(``zookeeper.py``) and Kubernetes (``kubernetes.py``). The rules of the election (``election.py``) are the
same for all. Each leader gets a fencing number that is higher than those of all leaders before it.

A lease says who should act. What a leader that has lost it without noticing still writes is harmless for
another reason: each attempt at a job claims its checkpoint directory (``jobmanager/checkpoints/storage.py``).
"""

from __future__ import annotations

from firesteel.jobmanager.leadership.election import Candidate, Election, LeadershipLostError
from firesteel.jobmanager.leadership.lease import Lease, LeaseStore, LeaseUnavailableError
from firesteel.jobmanager.leadership.stores import election_of

__all__ = [
    "Candidate",
    "Election",
    "LeadershipLostError",
    "Lease",
    "LeaseStore",
    "LeaseUnavailableError",
    "election_of",
]
