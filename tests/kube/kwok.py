"""Nodes that only exist on paper: kwok plays their kubelets, hundreds at a time."""

import os

from . import build, versions
from .programs import wait_for

KIND = {"kwok.x-k8s.io/node": "fake"}
SIZE = {"cpu": "96", "memory": "900Gi", "pods": "110", "nvidia.com/gpu": "8", "rdma/ib": "8"}
NODES_IN_A_RACK = 16


def start(programs, pki, folder, kubeconfig, ports, version):
    stages = os.path.join(folder, "stages.yaml")
    with open(stages, "w", encoding="utf-8") as out:
        for part in (build.stock_stages_file(), os.path.join(versions.HERE, "stages.yaml")):
            with open(part, encoding="utf-8") as file:
                out.write(file.read())
    address = f"127.0.0.1:{ports['kwok']}"
    # Short leases of many nodes cost a good part of a core; these are renewed every ten seconds.
    programs.start("kwok", [versions.program("kwok", version), f"--kubeconfig={kubeconfig}", f"--config={stages}",
                            "--manage-all-nodes=false",
                            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                            "--cidr=10.100.0.0/14", "--node-ip=127.0.0.1", f"--node-port={ports['kwok']}",
                            f"--server-address={address}", f"--tls-cert-file={pki.path('apiserver.crt')}",
                            f"--tls-private-key-file={pki.path('apiserver.key')}",
                            "--node-lease-duration-seconds=40"])


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
