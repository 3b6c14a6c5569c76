"""Jobs of the real program on a real Kubernetes: kubelets, containers, logs, ends and their causes."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import images, requirements, versions  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from support.world import BINARY, World, eventually  # noqa: E402

WITHOUT = requirements.for_control_plane(versions.chosen()) or requirements.for_real_nodes()
TOOLS = "muster.test/tools:1"
# Rank 0 serves a line at MASTER_ADDR:MASTER_PORT, and everybody must have heard it.
RING = """
echo rank $RANK of $WORLD_SIZE on $MUSTER_NODE
if [ $RANK = 0 ]; then echo heard rank 0 | nc -l -p $MASTER_PORT >/dev/null; echo heard rank 0; exit; fi
until said=$(nc -w 2 $MASTER_ADDR $MASTER_PORT </dev/null 2>/dev/null) && [ -n "$said" ]; do sleep 0.1; done
echo "$said"
"""
cluster = None
folder = None


def setUpModule():
    global cluster, folder
    if WITHOUT:
        return
    folder = tempfile.TemporaryDirectory()
    layer = images.busybox_layer().program("bin/muster", BINARY)
    tools = images.write(os.path.join(folder.name, "tools.tar"), TOOLS, layer)
    cluster = Cluster(real_nodes=2, images=[tools]).start()
    print("up:", cluster.seconds, file=sys.stderr)


def tearDownModule():
    if cluster:
        cluster.stop()
        folder.cleanup()
    if WITHOUT:
        print("not run: jobs on Kubernetes:", "; ".join(WITHOUT), file=sys.stderr)


@unittest.skipIf(WITHOUT, "; ".join(WITHOUT))
class Jobs(World):
    code = "snapshot"
    prefix = "t-"  # of its namespaces

    def setUp(self):
        self.space = cluster.namespace(self.prefix + self.id().rsplit(".", 1)[1].replace("_", "-")[5:50].strip("-"))
        self.config = f"""
default: lab
clusters:
  lab:
    kind: kube
    kubeconfig: {cluster.kubeconfig}
    namespace: {self.space}
    image: {TOOLS}
    grace: 2s
    patience: 5s
    retries: {{infra: 0}}
"""
        super().setUp()
        self.write(os.path.join(self.dir, "greeting"), "hello from the snapshot\n")

    def end(self, *words, seconds=120):
        ident = self.submit(*words)
        self.ended(ident, seconds)
        return ident

    def ended(self, ident, seconds=120):
        return self.wait_state(ident, "succeeded", "failed", "cancelled", seconds=seconds)

    def objects(self):
        return cluster.kubectl("-n", self.space, "get", "jobs,pods,secrets,services", "-o", "name").split()

    def test_code_argv_environment_and_exit_code(self):
        ident = self.submit("-e", "WORD=a b\nc", "--", "sh", "-c", "cat greeting; printf '%s|' \"$@\" \"$WORD\"; exit 3",
                            "sh", "$(WORD)", "", "ü 'q'")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["exit_code"], job["cause"]), ("failed", 3, "user_code"), job)
        out = self.ok("logs", ident).decode()
        self.assertEqual(out, "hello from the snapshot\n$(WORD)||ü 'q'|a b\nc|")
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)

    def test_the_ranks_of_a_gang_reach_each_other_by_name(self):
        ident = self.submit("--nodes", "2", "--cpus", "1", "--", "sh", "-c", RING)
        job = self.ended(ident)
        self.assertEqual(job["state"], "succeeded", (job, self.ok("why", ident)))
        nodes = job["attempts"][0]["nodes"]
        for rank in (0, 1):
            self.assertEqual(self.ok("logs", "--rank", str(rank), ident).decode(), f"rank {rank} of 2 on {nodes[rank]}\nheard rank 0\n")

    def test_abort_ends_it_and_leaves_nothing(self):
        ident = self.submit("--", "sh", "-c", "trap 'echo told; exit 9' TERM; echo up; while :; do sleep 0.1; done")
        self.wait_state(ident, "running", seconds=120)
        self.ok("abort", ident)
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("cancelled", "cancelled"), job)
        self.assertEqual(self.ok("logs", ident).decode(), "up\ntold\n")
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)

    def test_a_server_killed_in_the_middle_changes_nothing(self):
        ident = self.submit("--", "sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done; exit 4")
        self.wait_state(ident, "running", seconds=120)
        self.kill_server()
        job = self.ended(ident)
        self.assertEqual((job["exit_code"], len(job["attempts"])), (4, 1), job)
        self.assertEqual(self.ok("logs", ident).decode(), "1\n2\n3\n4\n5\n6\n")

    def test_an_image_that_does_not_exist(self):
        ident = self.submit("--image", "muster.test/nowhere:1", "--", "true")
        why = eventually("the reason", lambda: (lambda text: text if b"Image" in text else None)(self.ok("why", ident)), 60)
        self.assertIn(b"image", why.lower())
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "image_pull"), job)

    def test_no_room_says_so(self):
        ident = self.submit("--cpus", "500", "--", "true")
        why = eventually("the reason", lambda: (lambda text: text if b"Insufficient cpu" in text else None)(self.ok("why", ident)), 60)
        self.assertIn(b"fix:", why)
        self.ok("abort", ident)
        self.assertEqual(self.ended(ident)["state"], "cancelled")

    def test_a_deleted_pod_is_noticed(self):
        ident = self.submit("--", "sleep", "1000")
        self.wait_state(ident, "running", seconds=120)
        cluster.kubectl("-n", self.space, "delete", "pods", "--all", "--wait=false")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "removed_externally"), job)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
