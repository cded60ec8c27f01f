"""The settings of a history server, checked: frozen, of a configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import history as options, rest
from firesteel.rest.settings import RestSettings, rest_settings


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """:param retained: how many archives are kept in each directory; None: all of them.
    :param retained_ms: for how long they are kept; None: for ever.
    :param forgets: whether a job is forgotten when its archive is gone.
    :param temporary: where copies of the archives are; None: where temporary files are.
    :param driver_log: a URL with ``<jobid>`` in it; ``worker_log``: with ``<tmid>``, too.
    """

    directories: tuple[str, ...]
    refresh_ms: int = 10_000
    retained: int | None = None
    retained_ms: int | None = None
    forgets: bool = False
    temporary: str | None = None
    driver_log: str | None = None
    worker_log: str | None = None


def history_settings(configuration: Configuration) -> HistorySettings:
    """Read and check them.

    :raises ConfigurationError: no directory is named, or a value makes no sense.
    """
    get = configuration.get
    named = (name.strip() for name in (get(options.DIRECTORIES) or "").split(","))
    directories = tuple(name for name in named if name)
    if not directories:
        raise ConfigurationError(
            "The history server needs to know where the archives of jobs are.",
            detail=f"{options.DIRECTORIES.key} is not set",
            hint=f"name the directory of {options.ARCHIVE_DIR.key} of your jobs",
        )
    retained = get(options.RETAINED_JOBS)
    if retained == 0 or retained < -1:
        raise ConfigurationError(
            f"{options.RETAINED_JOBS.key} is {retained}: set it to at least 1, or to -1 to keep all archives."
        )
    return HistorySettings(
        directories=directories,
        refresh_ms=get(options.REFRESH),
        retained=None if retained == -1 else retained,
        retained_ms=get(options.RETAINED_TTL),
        forgets=get(options.CLEAN_EXPIRED),
        temporary=get(options.TEMPORARY),
        driver_log=_url(configuration, options.DRIVER_LOG),
        worker_log=_url(configuration, options.WORKER_LOG),
    )


_SCHEMES: Final = ("http://", "https://")


def _url(configuration: Configuration, option: ConfigOption[str | None]) -> str | None:
    found = configuration.get(option)
    if found is not None and not found.startswith(_SCHEMES):
        raise ConfigurationError(
            f"{option.key} is {found}.",
            hint="only URLs that begin with http:// or https:// are shown to browsers",
        )
    return found


def web_settings(configuration: Configuration) -> RestSettings:
    """How the history server is served: as the REST API of a cluster, but where ``historyserver.web.*`` says.

    :raises ConfigurationError: they contradict each other, or would leave the server open to anybody.
    """
    values = configuration.to_dict()
    for option in (rest.BIND_PORT, rest.BIND_ADDRESS, rest.ADDRESS):
        for key in (option.key, *option.older_names):
            values.pop(key, None)
    values[rest.PORT.key] = str(configuration.get(options.PORT))
    values[rest.REFRESH.key] = f"{configuration.get(options.WEB_REFRESH)} ms"
    address = configuration.get(options.ADDRESS)
    if address is not None:
        values[rest.BIND_ADDRESS.key] = address
    found = rest_settings(Configuration.from_dict(values))
    wants_tls = configuration.get(options.TLS)
    if wants_tls and found.tls is None:
        raise ConfigurationError(
            f"{options.TLS.key} needs the certificate of the REST API.",
            hint=f"set {rest.SSL.key} to true, and {rest.KEYSTORE.key} to a PEM file",
        )
    return replace(found, tls=found.tls if wants_tls else None, submit=False, cancel=False)
