"""What this machine lacks for a test cluster, in sentences: a test that skips prints them."""

import os
import shutil

from . import build, cgroups, go, versions

PLUGINS = "/usr/lib/cni/bridge"
TOOLS = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2", "busybox": "busybox-static",
         "nsenter": "util-linux"}
NEEDED_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}


def is_root():
    """MUSTER_KUBE_ROOTLESS=1: as if not, for trying what others have."""
    return os.geteuid() == 0 and os.environ.get("MUSTER_KUBE_ROOTLESS", "0") == "0"


def for_control_plane(version):
    """Reasons why not even a control plane can run; empty when it can."""
    reasons = []
    if not shutil.which("openssl"):
        reasons.append("openssl is missing: ./dev setup kube")
    if build.missing(version) and not go.find():
        wanted = ".".join(map(str, versions.GO))
        reasons.append(f"the programs of Kubernetes {version} are not built, and there is no Go {wanted} "
                       "or newer to build them: ./dev kube build")
    return reasons


def for_real_nodes():
    """Reasons why nodes with containers cannot run here; empty when they can."""
    if not is_root():
        return ["real nodes need root: containers, networks and control groups are the kernel's"]
    reasons = [f"{name} may not be used here, a container perhaps" for name, bit in NEEDED_CAPABILITIES.items()
               if not capabilities() >> bit & 1]
    absent = sorted({package for name, package in TOOLS.items() if not shutil.which(name)})
    if not os.path.exists(PLUGINS):
        absent.append("containernetworking-plugins")
    if absent:
        reasons.append(f"missing: {', '.join(absent)}; ./dev setup kube")
    if not cgroups.hierarchies():
        reasons.append(f"no control groups below {cgroups.ROOT}")
    elif not os.access(cgroups.hierarchies()[0][0], os.W_OK):
        reasons.append(f"control groups below {cgroups.ROOT} may not be made")
    return reasons


def capabilities():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
