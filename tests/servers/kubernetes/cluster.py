"""A real Kubernetes on this machine: its servers, a kubelet with containerd, pods with their own addresses.

It needs root, and what ``scripts/fetch-kubernetes`` builds. Nothing of it is left when it has been stopped.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psutil
import yaml

from tests.places import CACHE
from tests.servers.kubernetes.image_of_a_file import archive_of
from tests.waiting import patience, until

RELEASE: Final = "1.34.4"
BINARIES: Final = CACHE / f"kubernetes-{RELEASE}"
TOKEN: Final = "administrator-of-the-tests"
_PODS: Final = "10.244.0.0/24"
_SERVICES: Final = "10.96.0.0/16"
_API: Final = "10.96.0.1"
_PAUSE: Final = "registry.k8s.io/pause:tests"
_NETWORK: Final = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        # Every pod is routed to, none bridged: what a service answers comes back the way it went.
        {
            "type": "ptp",
            "ipMasq": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": _PODS}]], "routes": [{"dst": "0.0.0.0/0"}]},
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}
_CONTAINERD: Final = """\
version = 2
root = "{root}"
state = "{state}"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
"""
_DNS: Final = """\
.:53 {{
    bind {address}
    kubernetes cluster.local {{
        kubeconfig {kubeconfig}
    }}
    forward . /etc/resolv.conf
}}
"""


class Kubernetes:
    """:param directory: certificates, settings, data and logs are in it."""

    def __init__(self, directory: Path) -> None:
        assert (BINARIES / ".complete").exists(), "there is no Kubernetes: run scripts/fetch-kubernetes"
        assert os.geteuid() == 0, "a kubelet must be root"
        self._directory = directory
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = _own_address()
        self.kubeconfig = directory / "kubeconfig"
        self.socket = directory / "containerd.sock"

    # ---- its servers

    def start(self) -> Kubernetes:
        self._certify()
        self._write_settings()
        path = self._path
        client, peer = "http://127.0.0.1:22379", "http://127.0.0.1:22380"
        etcd = {
            "data-dir": path("etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": "true",
        }
        api = {
            "etcd-servers": client,
            "bind-address": self.address,
            "advertise-address": self.address,
            "secure-port": 6443,
            "feature-gates": "WatchList=false",  # it needs a newer etcd than Debian's
            "service-cluster-ip-range": _SERVICES,
            "authorization-mode": "RBAC",
            "token-auth-file": path("tokens.csv"),
            "client-ca-file": path("ca.crt"),
            "tls-cert-file": path("server.crt"),
            "tls-private-key-file": path("server.key"),
            "kubelet-preferred-address-types": "InternalIP",
            "kubelet-client-certificate": path("server.crt"),
            "kubelet-client-key": path("server.key"),
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": path("accounts.key"),
            "service-account-signing-key-file": path("accounts.key"),
        }
        alone = {"kubeconfig": self.kubeconfig, "leader-elect": "false", "bind-address": "127.0.0.1"}
        controllers = {
            "service-account-private-key-file": path("accounts.key"),
            "root-ca-file": path("ca.crt"),
            "use-service-account-credentials": "true",
        }
        kubelet = {
            "config": path("kubelet.yaml"),
            "kubeconfig": self.kubeconfig,
            "node-ip": self.address,
            "hostname-override": "node",
            "root-dir": path("kubelet"),
        }
        self._run("etcd", etcd)
        self._run("kube-apiserver", api)
        until(lambda: self._says_yes("get", "--raw", "/readyz"), "the API is not ready", 60, look_s=0.3)
        self._run("kube-controller-manager", alone | controllers)
        self._run("kube-scheduler", alone)
        self._run("containerd", {"config": path("containerd.toml")})
        until(self._ctr_answers, "containerd does not answer", 30, look_s=0.3)
        self.take_image(archive_of(BINARIES / "pause", _PAUSE, path("pause.tar")))
        self._forward("-I")
        self._run("kubelet", kubelet)
        self._run("kube-proxy", {"config": path("proxy.yaml")})
        self._run("coredns", {"conf": path("Corefile")})
        until(self._node_is_ready, "the node is not ready", 60, look_s=0.5)
        account = ("get", "serviceaccount", "default")
        until(lambda: self._says_yes(*account), "there is no account", 30, look_s=0.3)
        return self

    def stop(self) -> None:
        """End what runs in pods, then the servers, and take away what the kernel has been told."""
        kubelet = self._processes.pop("kubelet", None)
        if kubelet is not None:
            kubelet.terminate()
            kubelet.wait(patience(30))
        for shim in _shims(self.socket):
            for process in (*shim.children(recursive=True), shim):
                _kill(process)
        for process in reversed(list(self._processes.values())):
            process.terminate()
            try:
                process.wait(patience(10))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for mounted in reversed(_mounts_below(self._directory)):
            subprocess.run(["umount", "--lazy", mounted], check=False, capture_output=True)
        subprocess.run([BINARIES / "kube-proxy", "--cleanup"], check=False, capture_output=True)
        self._forward("-D")

    def _forward(self, change: str) -> None:
        """Where Docker has run, the kernel forwards only what it is told to."""
        for side in ("-s", "-d"):
            rule = ["iptables", change, "FORWARD", side, _PODS, "-j", "ACCEPT"]
            subprocess.run(rule, check=False, capture_output=True)

    def _run(self, name: str, options: Mapping[str, Any]) -> None:
        dashes = "-" if name == "coredns" else "--"
        words = [f"{dashes}{key}={value}" for key, value in options.items()]
        ours = BINARIES / name
        with self._path(f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [ours if ours.exists() else name, *words], stdout=log, stderr=log, start_new_session=True
            )

    def _path(self, name: str) -> Path:
        return self._directory / name

    def _says_yes(self, *words: str) -> bool:
        self._check_servers()
        return self._kubectl(words).returncode == 0

    def _check_servers(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} has ended: {self._path(f'{name}.log').read_text()[-3000:]}")

    def _node_is_ready(self) -> bool:
        self._check_servers()
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        return any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for node in nodes
            for condition in node["status"]["conditions"]
        )

    # ---- what they are told

    def _certify(self) -> None:
        names = "DNS:kubernetes.default.svc,DNS:kubernetes,DNS:localhost"
        subject = f"subjectAltName={names},IP:{_API},IP:{self.address},IP:127.0.0.1"
        self._path("extensions").write_text(f"{subject}\nextendedKeyUsage=serverAuth,clientAuth\n")
        for command in (
            "genrsa -out accounts.key 2048",
            "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=tests",
            "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr"
            " -subj /O=system:masters/CN=server",
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 30"
            " -extfile extensions",
        ):
            done = subprocess.run(
                ["openssl", *command.split()], cwd=self._directory, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
        self._path("tokens.csv").write_text(f'{TOKEN},administrator,1,"system:masters"\n')

    def _write_settings(self) -> None:
        authority = base64.b64encode(self._path("ca.crt").read_bytes()).decode()
        server = f"https://{self.address}:6443"
        _write(
            self.kubeconfig,
            apiVersion="v1",
            kind="Config",
            clusters=[
                {"name": "tests", "cluster": {"server": server, "certificate-authority-data": authority}}
            ],
            users=[{"name": "administrator", "user": {"token": TOKEN}}],
            contexts=[{"name": "tests", "context": {"cluster": "tests", "user": "administrator"}}],
            **{"current-context": "tests"},
        )
        _write(
            self._path("kubelet.yaml"),
            apiVersion="kubelet.config.k8s.io/v1beta1",
            kind="KubeletConfiguration",
            address=self.address,
            authentication={
                "anonymous": {"enabled": False},
                "x509": {"clientCAFile": str(self._path("ca.crt"))},
            },
            authorization={"mode": "AlwaysAllow"},
            cgroupDriver="cgroupfs",
            clusterDNS=[self.address],
            clusterDomain="cluster.local",
            containerRuntimeEndpoint=f"unix://{self.socket}",
            enforceNodeAllocatable=[],
            evictionHard={"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            failSwapOn=False,
            failCgroupV1=False,
            imageGCHighThresholdPercent=100,
            podLogsDir=str(self._path("pod-logs")),
            staticPodPath="",
        )
        _write(
            self._path("proxy.yaml"),
            apiVersion="kubeproxy.config.k8s.io/v1alpha1",
            kind="KubeProxyConfiguration",
            bindAddress="127.0.0.1",
            clientConnection={"kubeconfig": str(self.kubeconfig)},
            clusterCIDR=_PODS,
            conntrack={"maxPerCore": 0},
            hostnameOverride="node",
            mode="iptables",
        )
        network = self._path("network")
        network.mkdir()
        (network / "10-pods.conflist").write_text(json.dumps(_NETWORK))
        self._path("containerd.toml").write_text(
            _CONTAINERD.format(
                root=self._path("containerd"),
                state=self._path("containerd-state"),
                socket=self.socket,
                pause=_PAUSE,
                network=network,
            )
        )
        self._path("Corefile").write_text(_DNS.format(address=self.address, kubeconfig=self.kubeconfig))

    # ---- images

    def take_image(self, archive: Path) -> None:
        """Take what ``docker save`` has written, instead of asking a registry."""
        self._ctr("-n", "k8s.io", "images", "import", str(archive))

    def _ctr(self, *words: str) -> None:
        done = subprocess.run(["ctr", "--address", self.socket, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def _ctr_answers(self) -> bool:
        self._check_servers()
        asked = ["ctr", "--address", self.socket, "version"]
        return subprocess.run(asked, capture_output=True).returncode == 0

    # ---- what users do

    def kubectl(self, *words: str, given: str = "", seconds: float = 60) -> str:
        """What ``kubectl`` prints.

        :param given: its standard input. :raises AssertionError: it fails.
        """
        done = self._kubectl(words, given, seconds)
        assert done.returncode == 0, (
            f"kubectl {' '.join(words)}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
        return done.stdout

    def _kubectl(
        self, words: Sequence[str], given: str = "", seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", "--kubeconfig", str(self.kubeconfig), *words],
            input=given,
            capture_output=True,
            text=True,
            timeout=patience(seconds),
        )

    def get(self, kind: str, *words: str) -> list[Any]:
        return list(json.loads(self.kubectl("get", kind, "-o", "json", *words))["items"])


def _own_address() -> str:
    """Of the interface by which this machine reaches others."""
    route = json.loads(subprocess.check_output(["ip", "-json", "route", "get", "8.8.8.8"]))
    return str(route[0]["prefsrc"])


def _write(path: Path, **settings: Any) -> None:
    path.write_text(yaml.safe_dump(settings))


def _shims(socket: Path) -> list[psutil.Process]:
    """The processes by which containerd holds containers: they outlive it."""
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        if "containerd-shim" in (process.info["name"] or "") and str(socket) in (
            process.info["cmdline"] or []
        ):
            found.append(process)
    return found


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)


def _mounts_below(directory: Path) -> list[str]:
    mounts = (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
    return [mounted for mounted in mounts if mounted.startswith(f"{directory}/")]
