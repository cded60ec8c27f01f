"""A lease as an object ``Lease`` of Kubernetes' API (``coordination.k8s.io/v1``), replaced by its
``resourceVersion``."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.extras import extra
from firesteel.jobmanager.leadership.lease import Lease, LeaseUnavailableError, Version, decode, encode

__all__ = ["KubernetesLease"]

_CONFLICT, _NOT_FOUND = 409, 404
_ANNOTATION = (
    "firesteel.apache.org/lease"  # what a Lease has no field for: the address and the fencing number
)


class KubernetesLease:
    """The object ``NAME`` in ``namespace``.

    The account of the pod needs the verbs get, create and update for ``leases``.

    :param host: of an API server, for tests; None: the one of the pod or of the user's kubeconfig.
    """

    def __init__(
        self, name: str, namespace: str, duration_s: float, *, timeout_s: float, host: str | None = None
    ) -> None:
        kubernetes = extra("kubernetes", "High availability with Kubernetes", "kubernetes")
        self._failure: Any = extra(
            "kubernetes.client.exceptions", "High availability with Kubernetes", "kubernetes"
        )
        self._name, self._namespace = name, namespace
        self._duration_s = max(1, round(duration_s))
        self._timeout_s = timeout_s
        configuration = kubernetes.client.Configuration()
        if host is not None:
            configuration.host = host
        else:
            _load(kubernetes.config, configuration)
        configuration.retries = False
        self._api = kubernetes.client.CoordinationV1Api(kubernetes.client.ApiClient(configuration))

    def read(self) -> tuple[Lease | None, Version]:
        found = self._call("read_namespaced_lease", self._name, self._namespace)
        if found is None:
            return None, None
        held = (found.metadata.annotations or {}).get(_ANNOTATION, "")
        return decode(
            held.encode(), f"the lease {self._namespace}/{self._name}"
        ), found.metadata.resource_version

    def replace(self, lease: Lease, version: Version) -> bool:
        body: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "annotations": {_ANNOTATION: encode(lease).decode()}},
            "spec": {
                "holderIdentity": lease.holder,
                "leaseDurationSeconds": self._duration_s,
                "leaseTransitions": lease.token,
            },
        }
        if version is None:
            return self._call("create_namespaced_lease", self._namespace, body) is not None
        body["metadata"]["resourceVersion"] = version
        return self._call("replace_namespaced_lease", self._name, self._namespace, body) is not None

    def close(self) -> None:
        self._api.api_client.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        """What the API answers; None: a conflict, or the object is not there."""
        try:
            return getattr(self._api, name)(*arguments, _request_timeout=self._timeout_s)
        except self._failure.ApiException as error:
            if error.status in (_CONFLICT, _NOT_FOUND):
                return None
            raise LeaseUnavailableError(
                f"Kubernetes refuses the lease {self._namespace}/{self._name}.", detail=_reason(error)
            ) from error
        except Exception as error:  # urllib3's errors, which the client lets through
            raise LeaseUnavailableError(
                "Kubernetes' API does not answer.", detail=f"{type(error).__name__}: {error}"
            ) from error


def _load(config: Any, configuration: Any) -> None:
    try:
        config.load_incluster_config(configuration)
    except config.ConfigException:
        try:
            config.load_kube_config(client_configuration=configuration)
        except config.ConfigException as error:
            raise LeaseUnavailableError(
                "There is no Kubernetes to ask for a lease.",
                detail=str(error),
                hint="run it in a pod with a service account, or where kubectl works",
            ) from error


def _reason(error: Any) -> str:
    try:
        return f"{error.status}: {json.loads(error.body)['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{error.status}: {error.reason}"
