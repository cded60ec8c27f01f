"""A real RabbitMQ server in a process of its own, on the loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pika

from firesteel.common.errors import ConnectorError
from firesteel.connectors.rabbitmq.settings import RabbitSettings
from tests.places import free_port
from tests.waiting import patience

_SERVERS = sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
_PATIENCE_S = 90
_GREETING_S = 5.0


class RabbitServer:
    """``start`` and ``kill`` as often as a test likes: ports and data stay the same."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.port = free_port()
        self._names = free_port()  # of the process that Erlang's nodes find each other by
        self.settings = RabbitSettings(
            host="127.0.0.1", port=self.port, virtual_host="/", user="guest", password="guest"
        )
        self._environment = os.environ | {
            "HOME": str(directory),
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._names),
            "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_LOG_BASE": str(directory / "log"),
            "RABBITMQ_MNESIA_BASE": str(directory / "data"),
            "RABBITMQ_NODENAME": f"firesteel{os.getpid()}@localhost",
            "RABBITMQ_PID_FILE": str(directory / "pid"),
        }
        (directory / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RabbitServer:
        assert _SERVERS, "these tests need RabbitMQ: run scripts/test-servers, or install rabbitmq-server"
        with (self._directory / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [str(_SERVERS[-1])],
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until = time.monotonic() + patience(_PATIENCE_S)
        while True:
            if self._is_up():
                return self
            log = (self._directory / "output").read_text()
            assert self._process.poll() is None, log
            assert time.monotonic() < until, log
            time.sleep(0.3)

    def _is_up(self) -> bool:
        """A client is asked last: one that is turned away while the server starts leaves its sockets open."""
        try:
            if not self._greets():
                return False
            self.settings.connect().close()
        except (ConnectorError, OSError):
            return False
        return True

    def _greets(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.settings.port), _GREETING_S) as line:
            line.settimeout(_GREETING_S)
            line.sendall(b"AMQP\x00\x00\x09\x01")
            return line.recv(1) == b"\x01"  # the frame of Connection.Start

    def kill(self) -> None:
        """As a machine that goes down: SIGKILL to all processes of the server."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self.kill()
        until = time.monotonic() + 10
        while b"living nodes" in self._end_names() and time.monotonic() < until:
            time.sleep(0.1)  # it has not noticed yet that the server is gone

    def _end_names(self) -> bytes:
        command = ["epmd", "-port", str(self._names), "-kill"]
        return subprocess.run(command, env=self._environment, capture_output=True, check=False).stdout

    # ---- queues

    def publish(self, queue: str, *bodies: str, ids: bool = True) -> None:
        """Persistent messages; with ``ids`` the body is the correlation id, too."""
        connection = self.settings.connect()
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        channel.tx_select()
        for body in bodies:
            properties = pika.BasicProperties(delivery_mode=2, correlation_id=body if ids else None)
            channel.basic_publish("", queue, body.encode(), properties)
        channel.tx_commit()
        connection.close()

    def left(self, queue: str) -> int:
        """How many messages wait in the queue, those that are on their way to nobody."""
        connection = self.settings.connect()
        try:
            count: int = connection.channel().queue_declare(queue, durable=True).method.message_count
            return count
        finally:
            connection.close()

    def drain(self, queue: str) -> list[str]:
        """All messages of the queue, taken out of it."""
        connection = self.settings.connect()
        channel = connection.channel()
        found = []
        while True:
            method, _, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                connection.close()
                return found
            found.append(body.decode())
