"""Nodes that only exist on paper: kwok plays their kubelets, hundreds at a time."""

import os

from . import build, versions
from .programs import wait_for

KIND = {"kwok.x-k8s.io/node": "fake"}
SIZE = {"cpu": "96", "memory": "900Gi", "pods": "110", "nvidia.com/gpu": "8", "rdma/ib": "8"}
NODES_IN_A_RACK = 16
# Its own four workers of each sort fall behind where an answer takes long.
CONFIG = """apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options: {podPlayStageParallelism: 16, nodePlayStageParallelism: 16, nodeLeaseParallelism: 16}
"""


def start(programs, pki, folder, kubeconfig, options):
    """Leases are renewed four times in their life, which costs a good part of a core with many nodes."""
    ports, version = options["ports"], options["version"]
    lease = 40 if options["real_nodes"] else 160  # seconds; as control_plane.grace()
    stages = os.path.join(folder, "stages.yaml")
    with open(stages, "w", encoding="utf-8") as out:
        out.write(CONFIG)
        for part in (build.stock_stages_file(), os.path.join(versions.HERE, "stages.yaml")):
            with open(part, encoding="utf-8") as file:
                out.write(file.read())
    address = f"127.0.0.1:{ports['kwok']}"
    programs.start("kwok", [versions.program("kwok", version), f"--kubeconfig={kubeconfig}", f"--config={stages}",
                            "--manage-all-nodes=false",
                            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                            "--cidr=10.100.0.0/14", "--node-ip=127.0.0.1", f"--node-port={ports['kwok']}",
                            f"--server-address={address}", f"--tls-cert-file={pki.path('apiserver.crt')}",
                            f"--tls-private-key-file={pki.path('apiserver.key')}",
                            f"--node-lease-duration-seconds={lease}"])


def add_nodes(api, count, first=0, size=None):
    """Returns when all of them take pods."""
    for index in range(first, first + count):
        api.post("/api/v1/nodes", node(index, size or SIZE))
    wait_for(f"{count} fake nodes ready", lambda: len(api.ready_nodes("fake-")) >= first + count, 120)


def node(index, size):
    name = f"fake-{index:04d}"
    labels = {"kubernetes.io/hostname": name, "type": "kwok", "muster.test/node": "fake",
              "muster.test/rack": f"r{index // NODES_IN_A_RACK}",
              "node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": KIND, "labels": labels},
            "status": {"capacity": size, "allocatable": size}}
