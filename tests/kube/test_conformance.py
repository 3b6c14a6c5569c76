"""The suite for all backends, on Kubernetes with real kubelets."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from conformance.scenarios import Scenarios, add_to  # noqa: E402
from kube.lab import Lab, OnCluster  # noqa: E402
from support.world import eventually  # noqa: E402

lab = Lab()
setUpModule, tearDownModule = lab.start, lab.stop


@add_to
class Kube(Scenarios, OnCluster):
    backend = "kube"
    lab = lab
    infra = 1

    def evict(self, _):
        self.evict_pods()

    def lose_node(self, ident):
        """It loses its power and is taken out of the cluster; a new machine of its name comes."""
        node = self.job(ident)["attempts"][0]["nodes"][-1]
        self.cluster.power_off(node)
        self.cluster.kubectl("delete", "node", node)
        eventually("the next attempt", lambda: self.job(ident)["attempt"] == 2, 240)
        self.cluster.power_on(node)


if __name__ == "__main__":
    unittest.main(verbosity=2)
