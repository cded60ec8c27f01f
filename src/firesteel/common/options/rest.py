"""The REST API: where it listens, who may use it, what it keeps."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, memory, text, texts, word

PORT: Final = integer(
    "rest.port",
    8081,
    "The port of the REST API. A program whose configuration sets it serves the API while it runs; so does "
    "`firesteel run --rest`. 0: any free port.",
    scope="process",
    bounds=Bounds(0, 65535),
)
BIND_PORT: Final = text(
    "rest.bind-port",
    None,
    "Ports of which the first that is free is taken: `8081`, `50100,50101` or `50100-50200`. Without it: "
    "`rest.port`.",
    scope="process",
    older_names=("web.port",),
)
BIND_ADDRESS: Final = text(
    "rest.bind-address",
    None,
    "The address that the REST API is bound to. Without it: 127.0.0.1, which only programs of this machine "
    "reach. Any other one needs `rest.auth` to be set.",
    scope="process",
    older_names=("web.address",),
)
ADDRESS: Final = text(
    "rest.address",
    None,
    "The name under which clients reach the REST API, where it is not the bound address.",
    scope="process",
)
AUTH: Final = word(
    "rest.auth",
    None,
    ("none", "token", "basic"),
    "Who may use the REST API: whoever has a bearer token, or a name and a password. `none`: everybody who "
    "reaches it. Without it: everybody on this machine.",
    scope="process",
)
AUTH_FILE: Final = text(
    "rest.auth.file",
    None,
    "The file with the tokens or passwords, which only its owner may read (docs/rest.md says how they are "
    "written).",
    scope="process",
)
SSL: Final = boolean(
    "security.ssl.rest.enabled", False, "Serve the REST API over TLS alone.", scope="process"
)
KEYSTORE: Final = text(
    "security.ssl.rest.keystore",
    None,
    "The PEM file with the certificate, its chain and the private key of the REST API.",
    scope="process",
)
KEYSTORE_TYPE: Final = text(
    "security.ssl.rest.keystore-type",
    None,
    "The kind of the file with the certificate: `PEM`. Stores of Java are refused.",
    scope="process",
)
KEY_PASSWORD: Final = text(
    "security.ssl.rest.key-password", None, "The password of the private key.", scope="process"
)
CLIENT_CERTIFICATES: Final = boolean(
    "security.ssl.rest.authentication-enabled",
    False,
    "Clients of the REST API need a certificate of an authority in `security.ssl.rest.truststore`.",
    scope="process",
)
TRUSTSTORE: Final = text(
    "security.ssl.rest.truststore",
    None,
    "The PEM file with the authorities that the certificates of clients must come from.",
    scope="process",
)
ALLOW_ORIGIN: Final = texts(
    "web.access-control-allow-origin",
    "Web pages of which origins (`https://host:port`) may call the REST API from a browser, besides its own. "
    "`*` is refused.",
    scope="process",
)
SUBMIT: Final = boolean(
    "web.submit.enable",
    True,
    "Take programs by the REST API, where the cluster takes any: that of one program does not.",
    scope="process",
)
CANCEL: Final = boolean(
    "web.cancel.enable", True, "Cancel jobs from the dashboard of Flink.", scope="process"
)
REFRESH: Final = duration(
    "web.refresh-interval", 3_000, "How often the pages of the dashboard ask for news.", scope="process"
)
CHECKPOINT_HISTORY: Final = integer(
    "web.checkpoints.history",
    10,
    "How many checkpoints the REST API lists; 100 are known.",
    scope="process",
    bounds=Bounds(0, 100),
)
EXCEPTION_HISTORY: Final = integer(
    "web.exception-history-size",
    16,
    "How many failures of a job the REST API lists; 16 are known.",
    scope="process",
    bounds=Bounds(0, 16),
)
STORE_DURATION: Final = duration(
    "rest.async.store-duration",
    300_000,
    "How long the result of a command (a savepoint, a disposal) can be asked for.",
    scope="process",
)
MAX_CAPACITY: Final = integer(
    "jobstore.max-capacity",
    -1,
    "How many ended jobs the REST API knows. -1: all that have not expired.",
    scope="process",
    bounds=Bounds(0, beside=-1),
)
EXPIRATION: Final = integer(
    "jobstore.expiration-time",
    3_600,
    "For how many seconds after its end a job is known to the REST API.",
    scope="process",
    bounds=Bounds(0),
)
BODY_BYTES: Final = memory(
    "rest.server.max-content-length",
    1 << 20,
    "The largest body of a request to the REST API.",
    scope="process",
    bounds=Bounds(1_024),
)
UPLOAD_BYTES: Final = memory(
    "web.upload.max-size",
    100 << 20,
    "The largest file that can be handed in by the REST API.",
    scope="cluster",
    bounds=Bounds(1_024),
)
REQUEST_TIMEOUT: Final = duration(
    "rest.request-timeout",
    30_000,
    "How long a client may take to send a request, and how long it may not read an answer, before its "
    "connection is closed.",
    scope="process",
    bounds=Bounds(100),
)
FLINK_UI: Final = text(
    "web.flink-ui",
    None,
    "A jar with the dashboard of Apache Flink (`flink-dist-2.3.0.jar`). It is served at `/`, and that of "
    "Firesteel at `/firesteel/dashboard/`.",
    scope="process",
)
PROFILING: Final = boolean(
    "rest.profiling.enabled",
    False,
    "Let whoever may operate jobs take profiles of the server's Python process, and of Python workers. It "
    "needs `py-spy` (`firesteel[profile]`), and the right to look into processes of the same user.",
    scope="process",
)
PROFILING_LONGEST: Final = duration(
    "rest.profiling.duration-max",
    300_000,
    "How long a profile may take at most.",
    scope="process",
    bounds=Bounds(1000),
)
PROFILES_KEPT: Final = integer(
    "rest.profiling.history-size",
    10,
    "How many profiles of a process are kept.",
    scope="process",
    bounds=Bounds(1, 1000),
)
FLAME_GRAPHS: Final = boolean(
    "rest.flamegraph.enabled",
    True,
    "Sample the Python workers for the flame graph of a vertex when somebody looks at it. It needs `py-spy` "
    "(`firesteel[profile]`), and the right to look into processes of the same user.",
    scope="process",
)
