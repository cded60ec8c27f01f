"""AWS credentials: converts Flink's properties ``aws.credentials.provider...`` to botocore credentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.masking import remember

PROVIDER: Final = "aws.credentials.provider"
REGION: Final = "aws.region"

#: Valid suffixes of ``aws.credentials.provider``, and of each nested ``.role.provider``.
SUFFIXES: Final = (
    *(".basic.accesskeyid", ".basic.secretkey", ".basic.sessiontoken", ".profile.path", ".profile.name"),
    *(".role.arn", ".role.sessionName", ".role.externalId", ".role.stsEndpoint", ".webIdentityToken.file"),
)


def load_credentials(properties: Mapping[str, str], prefix: str = PROVIDER) -> Any:
    """Return the credentials that the properties under ``prefix`` describe. They refresh automatically if
    they expire. None: the ones that boto3 finds (environment, files, the machine's role).

    :raises ConfigurationError: a property is missing, or there are no credentials.
    """
    for name, value in properties.items():
        remember(name, value)
    has_keys = prefix + ".basic.accesskeyid" in properties and prefix + ".basic.secretkey" in properties
    kind = properties.get(prefix, "BASIC" if has_keys else "AUTO")
    if kind in ("SYS_PROP", "CUSTOM"):
        raise UnsupportedFeatureError(
            f"Credentials of the kind {kind} come from Java, which is not here.",
            detail=f"{prefix}={kind}",
            hint=f"use one of {', '.join(_KINDS)}",
        )
    if kind not in _KINDS:
        raise ConfigurationError(
            "There is no such provider of credentials.",
            detail=f"{prefix}={kind}",
            hint=f"use one of {', '.join(_KINDS)}",
        )
    return _KINDS[kind](properties, prefix)


def _none(properties: Mapping[str, str], prefix: str) -> Any:
    return None


def _basic(properties: Mapping[str, str], prefix: str) -> Any:
    from botocore.credentials import Credentials

    key = _required(properties, prefix + ".basic.accesskeyid")
    secret = _required(properties, prefix + ".basic.secretkey")
    return Credentials(key, secret, properties.get(prefix + ".basic.sessiontoken"))


def _environment(properties: Mapping[str, str], prefix: str) -> Any:
    from botocore.credentials import EnvProvider

    found = EnvProvider().load()
    return _there(found, prefix, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, also for Spark's workers")


def _profile(properties: Mapping[str, str], prefix: str) -> Any:
    from botocore.session import Session

    session = Session(profile=properties.get(prefix + ".profile.name", "default"))
    path = properties.get(prefix + ".profile.path")
    if path is not None:
        session.set_config_variable("credentials_file", path)
    return _there(session.get_credentials(), prefix, "the file must be there on all machines")


def _role(properties: Mapping[str, str], prefix: str) -> Any:
    from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
    from botocore.session import Session

    source = load_credentials(properties, prefix + ".role.provider")
    source = source or _there(Session().get_credentials(), prefix, "the role is assumed by somebody")
    arguments = _role_arguments(properties, prefix)
    if prefix + ".role.externalId" in properties:
        arguments["ExternalId"] = properties[prefix + ".role.externalId"]
    fetcher = AssumeRoleCredentialFetcher(
        _sts(properties, prefix), source, _required(properties, prefix + ".role.arn"), arguments
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


def _web_identity(properties: Mapping[str, str], prefix: str) -> Any:
    from botocore.credentials import (
        AssumeRoleWithWebIdentityCredentialFetcher,
        DeferredRefreshableCredentials,
    )
    from botocore.utils import FileWebIdentityTokenLoader

    file = properties.get(prefix + ".webIdentityToken.file")
    if file is None:
        return None  # boto3 uses AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN
    fetcher = AssumeRoleWithWebIdentityCredentialFetcher(
        _sts(properties, prefix),
        FileWebIdentityTokenLoader(file),
        _required(properties, prefix + ".role.arn"),
        _role_arguments(properties, prefix),
    )
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role-with-web-identity")


_KINDS: Final[dict[str, Callable[[Mapping[str, str], str], Any]]] = {
    "AUTO": _none,
    "BASIC": _basic,
    "ENV_VAR": _environment,
    "PROFILE": _profile,
    "ASSUME_ROLE": _role,
    "WEB_IDENTITY_TOKEN": _web_identity,
}


def _role_arguments(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    name = properties.get(prefix + ".role.sessionName")
    return {} if name is None else {"RoleSessionName": name}


def _sts(properties: Mapping[str, str], prefix: str) -> Callable[..., Any]:
    """Return the factory of clients of the token service (STS)."""
    from botocore.session import Session

    place = {
        "region_name": properties.get(REGION),
        "endpoint_url": properties.get(prefix + ".role.stsEndpoint"),
    }
    return lambda service, **options: Session().create_client(service, **place, **options)


def _required(properties: Mapping[str, str], name: str) -> str:
    if name not in properties:
        raise ConfigurationError(
            "The credentials for AWS are not complete.", detail=f"{name} is missing", hint="set it"
        )
    return properties[name]


def _there(credentials: Any, prefix: str, hint: str) -> Any:
    if credentials is None:
        raise ConfigurationError(
            "There are no credentials for AWS where they are looked for.",
            detail=f"{prefix} says where",
            hint=hint,
        )
    return credentials
