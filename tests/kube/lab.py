"""A muster home beside a real cluster, with a namespace of its own for each test."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import images, requirements, versions  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from support.world import BINARY, World  # noqa: E402

WITHOUT = requirements.for_control_plane(versions.chosen()) or requirements.for_real_nodes()
TOOLS = "muster.test/tools:1"


class Lab:
    """The cluster of one suite: real nodes that have an image with busybox and muster."""

    def __init__(self):
        self.cluster = None
        self._folder = None

    def start(self):
        if WITHOUT:
            return
        self._folder = tempfile.TemporaryDirectory()
        layer = images.busybox_layer().program("bin/muster", BINARY)
        tools = images.write(os.path.join(self._folder.name, "tools.tar"), TOOLS, layer)
        self.cluster = Cluster(real_nodes=2, images=[tools]).start()
        print("up:", self.cluster.seconds, file=sys.stderr)

    def stop(self):
        if self.cluster:
            self.cluster.stop()
            self._folder.cleanup()
        if WITHOUT:
            print("not run: jobs on Kubernetes:", "; ".join(WITHOUT), file=sys.stderr)


@unittest.skipIf(WITHOUT, "; ".join(WITHOUT))
class OnCluster(World):
    """`lab` is the suite's; `profile` are more lines of the profile."""

    code = "snapshot"
    lab = None
    profile = ""
    infra = 0  # retries
    prefix = "t-"  # of its namespaces

    def setUp(self):
        name = self.id().rsplit(".", 1)[1].replace("_", "-")[5:50].strip("-")
        self.space = self.cluster.namespace(self.prefix + name)
        self.config = f"""
default: lab
clusters:
  lab:
    kind: kube
    kubeconfig: {self.cluster.kubeconfig}
    namespace: {self.space}
    image: {TOOLS}
    grace: 2s
    patience: 5s
    retries: {{infra: {self.infra}}}
{self.profile}"""
        super().setUp()
        self.write(os.path.join(self.dir, "greeting"), "hello from the snapshot\n")

    @property
    def cluster(self):
        return self.lab.cluster

    def end(self, *words, seconds=120):
        ident = self.submit(*words)
        self.ended(ident, seconds)
        return ident

    def ended(self, ident, seconds=120):
        return self.wait_state(ident, "succeeded", "failed", "cancelled", seconds=seconds)

    def kubectl(self, *words, **more):
        return self.cluster.kubectl("-n", self.space, *words, **more)

    def evict_pods(self):
        for pod in self.kubectl("get", "pods", "-o", "name").split():
            name = pod.split("/")[1]
            self.cluster.api.post(f"/api/v1/namespaces/{self.space}/pods/{name}/eviction",
                                  {"apiVersion": "policy/v1", "kind": "Eviction",
                                   "metadata": {"name": name, "namespace": self.space}})

    def objects(self):
        return self.kubectl("get", "jobs,pods,secrets,services", "-o", "name").split()
