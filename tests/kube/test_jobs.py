"""Jobs of the real program on a real Kubernetes: kubelets, containers, logs, ends and their causes."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.lab import Lab, OnCluster  # noqa: E402
from support.world import eventually  # noqa: E402

# Rank 0 serves a line at MASTER_ADDR:MASTER_PORT, and everybody must have heard it.
RING = """
echo rank $RANK of $WORLD_SIZE on $MUSTER_NODE
if [ $RANK = 0 ]; then echo heard rank 0 | nc -l -p $MASTER_PORT >/dev/null; echo heard rank 0; exit; fi
until said=$(nc -w 2 $MASTER_ADDR $MASTER_PORT </dev/null 2>/dev/null) && [ -n "$said" ]; do sleep 0.1; done
echo "$said"
"""
lab = Lab()


def setUpModule():
    lab.start()


def tearDownModule():
    lab.stop()


class Jobs(OnCluster):
    lab = lab

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
        self.kubectl("delete", "pods", "--all", "--wait=false")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "removed_externally"), job)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
