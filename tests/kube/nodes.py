"""Real nodes: each a containerd and a kubelet in network and mount namespaces of their own.

A holder process keeps the two namespaces of a node; everything of the node enters them. The paths
that kubelets, containerd and CNI plugins share on one machine are covered by memory there.
"""

import contextlib
import json
import os
import signal

from . import cgroups, images, net, versions
from .control_plane import CONTROL
from .namespaces import NEW_MOUNTS, NEW_NETWORK, enter, unshare
from .programs import Failed, tool

COVERED = ("/run", "/var/lib/kubelet", "/var/lib/cni", "/var/log")


class Node:
    def __init__(self, index, programs, pki, options, cluster_folder, identity):
        self.index = index
        self.name = f"real-{index}"
        self.address = net.node_address(index)
        self._programs = programs
        self._pki = pki
        self._options = options
        self._folder = os.path.join(cluster_folder, self.name)
        self._group = f"{identity}/{self.name}"
        self._holder = None

    @property
    def socket(self):
        return socket_of(self._folder)

    def enter(self, *argv):
        return enter(self._holder, *argv)

    def filter_port(self, port, is_closed):
        """Whether packets to this port pass through the node, to its pods and from them."""
        tool(*self.enter("iptables", "-I" if is_closed else "-D", "FORWARD", "-p", "tcp", "--dport", str(port), "-j", "DROP"))

    def make(self, count):
        """Namespaces, mounts, network, groups, configuration: all but the programs."""
        for name in ("cni", "kubelet", "pods", "opt"):
            os.makedirs(os.path.join(self._folder, name))
        self._holder = self._programs.start(f"holder-{self.name}", ["sleep", "infinity"],
                                            before_exec=lambda: unshare(NEW_NETWORK | NEW_MOUNTS))
        covers = "".join(f"mkdir -p {path}; mount -t tmpfs tmpfs {path}; " for path in COVERED)
        kubelet = os.path.join(self._folder, "kubelet")
        tool(*self.enter("sh", "-ec", f"{covers} mount --bind {kubelet} {kubelet}; mount --make-rshared {kubelet}"))
        net.join(self.index, self._holder, count)
        cgroups.make(self._group)
        self._configure()

    def start_containerd(self):
        self._programs.start(f"containerd-{self.name}", self.enter("containerd", "-c", self._path("containerd.toml")))

    def load_images(self, archives):
        self._programs.until(f"containerd-{self.name}", self._containerd_answers)
        for archive in archives:
            tool("ctr", "-a", self.socket, "-n", "k8s.io", "images", "import", archive)

    def start_kubelet(self):
        config = self._pki.kubeconfig(self._path("kubeconfig"), self.name,
                                      f"https://{CONTROL}:{self._options['ports']['api']}")
        self._programs.start(f"kubelet-{self.name}", self.enter(
            versions.program("kubelet", self._options["version"]), f"--config={self._path('kubelet.json')}",
            f"--kubeconfig={config}", f"--hostname-override={self.name}", f"--node-ip={self.address}",
            f"--root-dir={self._path('kubelet')}", "--node-labels=muster.test/node=real"))

    def power_off(self):
        """As if its plug were pulled: programs, shims and containers at once. The network stays, so
        that the node can be switched on again."""
        mounts = os.readlink(f"/proc/{self._holder}/ns/mnt")
        while victims := [pid for pid in self._processes(mounts) if pid != self._holder]:
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._programs.reap()

    def power_on(self):
        self._programs.restart(f"containerd-{self.name}")
        self._programs.until(f"containerd-{self.name}", self._containerd_answers)
        self._programs.restart(f"kubelet-{self.name}")

    def _processes(self, mounts):
        """Those that see the node's mounts, and those in its control groups: the containers."""
        found = cgroups.processes(self._group)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/mnt") == mounts:
                    found.add(int(pid))
        return found

    def _containerd_answers(self):
        try:
            tool("ctr", "-a", self.socket, "--connect-timeout", "1s", "version")
            return True
        except Failed:
            return False

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _configure(self):
        texts = {"containerd.toml": CONTAINERD.format(folder=self._folder, socket=self.socket, pause=images.PAUSE,
                                                      snapshotter=snapshotter(self._folder)),
                 "cni/10-pods.conflist": json.dumps(self._pod_network()),
                 "kubelet.json": json.dumps(self._kubelet_settings()),
                 "resolv.conf": f"nameserver {CONTROL}\n"}
        for name, text in texts.items():
            with open(self._path(name), "w", encoding="ascii") as file:
                file.write(text)

    def _pod_network(self):
        addresses = {"type": "host-local", "dataDir": self._path("ipam"), "routes": [{"dst": "0.0.0.0/0"}],
                     "ranges": [[{"subnet": net.pod_range(self.index)}]]}
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
                  "ipam": addresses}
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}

    def _kubelet_settings(self):
        return {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
                "containerRuntimeEndpoint": "unix://" + self.socket,
                "failCgroupV1": False, "failSwapOn": False,
                "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + self._group, "enforceNodeAllocatable": [],
                "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                                   "x509": {"clientCAFile": self._pki.path("ca.crt")}},
                "authorization": {"mode": "AlwaysAllow"},
                "tlsCertFile": self._pki.path(self.name + ".crt"),
                "tlsPrivateKeyFile": self._pki.path(self.name + ".key"),
                "clusterDNS": [CONTROL], "clusterDomain": "cluster.local", "resolvConf": self._path("resolv.conf"),
                "podLogsDir": self._path("pods"), "makeIPTablesUtilChains": False,
                "localStorageCapacityIsolation": False, "imageGCHighThresholdPercent": 100,
                "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
                "nodeStatusUpdateFrequency": "4s", "nodeLeaseDurationSeconds": 8}


def socket_of(folder):
    return os.path.join(folder, "containerd.sock")


def snapshotter(folder):
    """Layers cannot lie on layers: inside a container's own file system they are copied instead."""
    return "native" if tool("stat", "-f", "-c", "%T", folder).strip() == "overlayfs" else "overlayfs"


# restrict_oom_score_adj: machines are about where root may not lower that score.
CONTAINERD = """version = 2
root = "{folder}/containerd"
state = "/run/containerd-state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""
