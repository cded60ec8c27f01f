"""What a container does that Spark starts as a pod: ``executor``, or ``driver WORD...`` in cluster mode.

Spark's manager for Kubernetes (``spark.master`` is ``k8s://...``) passes one of these two words to the
container, and everything else in its environment. The image has commands of these names, which run this
module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from firesteel.spark.java import find_java

__all__ = ["command"]

_BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION: Final = "SPARK_JAVA_OPT_"  # numbered from 0
# Options of the backend, and the variables in which Spark passes them.
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def command(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that stands for ``words`` in a container with ``environment``.

    :raises ValueError: another word than Spark's, or a variable is missing that Spark sets.
    """
    if not words or words[0] not in _COMMANDS:
        raise ValueError(
            f"{' '.join(words) or 'nothing'}: Spark starts pods as one of {', '.join(_COMMANDS)}."
        )
    try:
        return _COMMANDS[words[0]](words[1:], environment)
    except KeyError as missing:
        raise ValueError(f"{words[0]}: {missing.args[0]} is not set: only Spark can start this.") from None


def _executor(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    numbers = sorted(int(name.removeprefix(_OPTION)) for name in environment if name.startswith(_OPTION))
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    arguments = [word for option, name in _ARGUMENTS.items() for word in (option, environment[name])]
    return [
        str(Path(find_java()) / "bin/java"),
        *(environment[f"{_OPTION}{number}"] for number in numbers),
        *(f"-Xms{memory}", f"-Xmx{memory}", "-cp", _classpath(environment)),
        *(_BACKEND, *arguments, *words),
    ]


def _driver(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    address = environment["SPARK_DRIVER_BIND_ADDRESS"]
    return [
        str(Path(environment["SPARK_HOME"]) / "bin/spark-submit"),
        *("--conf", f"spark.driver.bindAddress={address}"),
        *("--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}"),
        *("--deploy-mode", "client", *words),
    ]


def _classpath(environment: Mapping[str, str]) -> str:
    """The settings that Spark mounts, its jars, and what ``spark.executor.extraClassPath`` names."""
    places = (
        environment.get("SPARK_CONF_DIR"),
        environment.get("SPARK_CLASSPATH"),
        f"{environment['SPARK_HOME']}/jars/*",
    )
    return os.pathsep.join(place for place in places if place)


_COMMANDS: Final[dict[str, Callable[[Sequence[str], Mapping[str, str]], list[str]]]] = {
    "executor": _executor,
    "driver": _driver,
}


def main() -> None:
    try:
        found = command(sys.argv[1:], os.environ)
    except ValueError as error:
        sys.exit(str(error))
    os.execvp(found[0], found)


if __name__ == "__main__":
    main()
