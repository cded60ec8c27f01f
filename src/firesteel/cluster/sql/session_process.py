"""The process of a session of the SQL gateway.

python -P -c "from firesteel.cluster.sql.session_process import main; main()" DESCRIPTOR
"""

from __future__ import annotations

import os
import socket
import sys

from firesteel.cluster.remote import RemoteExecutor, RestDoor
from firesteel.cluster.sql.link import Link, LinkClient
from firesteel.cluster.sql.session import SqlSession
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.program.execution import set_executor


def main() -> None:
    """The program of the process: ends with the dispatcher, or when that closes its end."""
    link = Link(socket.socket(fileno=int(sys.argv[1])))
    set_session_defaults(link.begin.settings)
    client = LinkClient(link)
    set_executor(RemoteExecutor(RestDoor(client), client))
    link.serve(SqlSession(link.begin.settings).answers)
    sys.stdout.flush()
    os._exit(0)
