"""The settings of the server, checked: frozen, of a configuration."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import rest
from firesteel.common.ports import ports_of


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """:param certificate: a PEM file with the certificate, its chain and the private key.
    :param clients: a PEM file with the authorities that clients' certificates must come from; None: clients
        need no certificate.
    """

    certificate: Path
    key_password: str | None = None
    clients: Path | None = None


@dataclass(frozen=True, slots=True)
class RestSettings:
    """:param host: the address that is bound; ``ports``: the first of them that is free.
    :param auth: ``none``, ``token`` or ``basic``; the credentials are in ``auth_file``.
    :param origins: web pages of which hosts may call the API from a browser, besides its own.
    :param request_timeout_s: how long a client may take to send a request, or not read an answer.
    :param flink_ui: a jar with Flink's dashboard, which is served at ``/`` then.
    :param flame_graphs: whether Python workers may be sampled.
    :param profiling: whether profiles may be taken, of so many seconds at most; so many are kept.
    """

    host: str = "127.0.0.1"
    ports: tuple[int, ...] = (8081,)
    address: str | None = None
    auth: str = "none"
    auth_file: Path | None = None
    tls: TlsSettings | None = None
    origins: frozenset[str] = frozenset()
    submit: bool = True
    cancel: bool = True
    refresh_ms: int = 3_000
    history: int = 10
    exceptions: int = 16
    keep_results_s: float = 300.0
    keep_jobs: int | None = None
    keep_jobs_ms: int = 3_600_000
    body_bytes: int = 1 << 20
    upload_bytes: int = 100 << 20
    request_timeout_s: float = 30.0
    flink_ui: Path | None = None
    flame_graphs: bool = True
    profiling: bool = False
    profiling_longest_s: int = 300
    profiles_kept: int = 10

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine reach the server."""
        return is_loopback(self.host)


def rest_settings(configuration: Configuration) -> RestSettings:
    """Read and check them.

    :raises ConfigurationError: they contradict each other, or would leave the server open to anybody.
    """
    get = configuration.get
    host = get(rest.BIND_ADDRESS) or "127.0.0.1"
    auth, auth_file = _auth(configuration, host)
    named: list[str] = get(rest.ALLOW_ORIGIN)
    origins = frozenset(named)
    if "*" in origins:
        raise ConfigurationError(
            "Every web page could run the jobs of whoever looks at it.",
            detail=f"{rest.ALLOW_ORIGIN.key} is *",
            hint="name the origins, as https://host:port",
        )
    keep = get(rest.MAX_CAPACITY)
    return RestSettings(
        host=host,
        ports=ports_of(get(rest.BIND_PORT) or str(get(rest.PORT)), rest.BIND_PORT.key),
        address=get(rest.ADDRESS),
        auth=auth,
        auth_file=auth_file,
        tls=_tls(configuration),
        origins=origins,
        submit=get(rest.SUBMIT),
        cancel=get(rest.CANCEL),
        refresh_ms=get(rest.REFRESH),
        history=get(rest.CHECKPOINT_HISTORY),
        exceptions=get(rest.EXCEPTION_HISTORY),
        keep_results_s=get(rest.STORE_DURATION) / 1000,
        keep_jobs=keep if keep >= 0 else None,
        keep_jobs_ms=get(rest.EXPIRATION) * 1000,
        body_bytes=get(rest.BODY_BYTES),
        upload_bytes=get(rest.UPLOAD_BYTES),
        request_timeout_s=get(rest.REQUEST_TIMEOUT) / 1000,
        flink_ui=_flink_ui(get(rest.FLINK_UI)),
        flame_graphs=get(rest.FLAME_GRAPHS),
        profiling=get(rest.PROFILING),
        profiling_longest_s=get(rest.PROFILING_LONGEST) // 1000,
        profiles_kept=get(rest.PROFILES_KEPT),
    )


def _auth(configuration: Configuration, host: str) -> tuple[str, Path | None]:
    """Who is asked for credentials, and where those are."""
    auth, file = configuration.get(rest.AUTH), configuration.get(rest.AUTH_FILE)
    if auth is None and not is_loopback(host):
        raise ConfigurationError(
            "The REST API would be open to everybody who reaches this machine.",
            detail=f"{rest.BIND_ADDRESS.key} is {host}, and {rest.AUTH.key} is not set",
            hint=f"set {rest.AUTH.key} to token or basic, or to none if everybody may run the jobs",
        )
    asks = auth in ("token", "basic")
    if asks and not file:
        raise ConfigurationError(
            f"{rest.AUTH.key} {auth} needs a file with credentials.", hint=f"set {rest.AUTH_FILE.key}"
        )
    if file and not asks:
        raise ConfigurationError(
            f"{rest.AUTH_FILE.key} is set, and nobody is asked for credentials.",
            hint=f"set {rest.AUTH.key} to token or basic",
        )
    return auth or "none", Path(file) if file else None


def _flink_ui(jar: str | None) -> Path | None:
    if jar is None:
        return None
    if not Path(jar).is_file():
        raise ConfigurationError(
            "The jar with Flink's dashboard is not there",
            detail=f"{rest.FLINK_UI.key} is {jar}",
            hint="name the file flink-dist-VERSION.jar of a Flink",
        )
    return Path(jar)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may be anything
        return False


def _tls(configuration: Configuration) -> TlsSettings | None:
    if not configuration.get(rest.SSL):
        return None
    file = configuration.get(rest.KEYSTORE)
    kind = (configuration.get(rest.KEYSTORE_TYPE) or "").upper()
    if not file or kind not in ("", "PEM") or not Path(file).is_file():
        raise ConfigurationError(
            "TLS needs a PEM file with the certificate, its chain and the private key.",
            detail=f"{rest.KEYSTORE.key} is {file}, {rest.KEYSTORE_TYPE.key} {kind or 'not set'}",
            hint="a PKCS12 store becomes one by `openssl pkcs12 -in STORE -out FILE.pem -nodes`",
        )
    clients = None
    if configuration.get(rest.CLIENT_CERTIFICATES):
        clients = configuration.get(rest.TRUSTSTORE)
        if not clients or not Path(clients).is_file():
            raise ConfigurationError(
                f"{rest.CLIENT_CERTIFICATES.key} needs the authorities of the clients as a PEM file.",
                detail=f"{rest.TRUSTSTORE.key} is {clients}",
            )
    password = configuration.get(rest.KEY_PASSWORD)
    return TlsSettings(Path(file), password, Path(clients) if clients else None)
