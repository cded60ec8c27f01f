"""What Flink's Java client tells the Python program that it has started."""

from __future__ import annotations

import os
from typing import Any, Final

from firesteel.common.errors import ConfigurationError

_PORT: Final = "PYFLINK_GATEWAY_PORT"


def is_started_by_flink() -> bool:
    return _PORT in os.environ


def settings_of_flink() -> dict[str, str]:
    """The whole configuration of the client: addresses, its command line, its files.

    :raises ConfigurationError: the client does not answer.
    """
    from py4j.java_gateway import GatewayParameters, JavaGateway, java_import
    from py4j.protocol import Py4JError

    try:
        parameters = GatewayParameters(port=int(os.environ[_PORT]), auto_convert=True)
        gateway: Any = JavaGateway(gateway_parameters=parameters)
        java_import(gateway.jvm, "org.apache.flink.client.python.*")
        environment = gateway.jvm.org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
        found = environment.getExecutionEnvironment().getConfiguration().toMap()
        settings = {str(key): str(found[key]) for key in found}
        gateway.close()
    except (Py4JError, OSError, ValueError) as error:
        raise ConfigurationError(
            "Flink's client does not tell its configuration.",
            detail=str(error),
            hint="run the program by `firesteel run -m HOST:PORT program.py`",
        ) from error
    return settings
