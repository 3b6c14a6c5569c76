"""Many jobs on many nodes: all of them finish, none twice, in bounded memory and with bounded talk."""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.fake_jobs import FakeJobs, asked, start_cluster, stop_cluster  # noqa: E402

NODES = asked("NODES", 200)
JOBS = asked("JOBS", 100)
PODS = asked("PODS", 500)
MEMORY = asked("MEMORY", 0)  # MiB that the server may have at most; 0: any
SECONDS = asked("SECONDS", 900)


def setUpModule():
    start_cluster(fake_nodes=NODES)


def tearDownModule():
    stop_cluster("many jobs on many nodes")


def peak_of(pid):
    """MiB that the process has had at most."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


class Scale(FakeJobs):
    def kubeconfig_of(self):
        return self.through_proxy()  # which only counts

    def test_all_of_them_finish(self):
        began = time.monotonic()
        width = PODS // JOBS
        for number in range(JOBS):
            self.submit_fake(number, 2000, "--nodes", str(width))
        server = self.server_pid()
        submitted = time.monotonic() - began
        self.converge(SECONDS)
        took = time.monotonic() - began
        self.assertEqual(self.server_pid(), server, "one server from beginning to end")
        memory = peak_of(server)
        self.check_ledger()
        self.assertEqual(sum(map(len, self.audit.pods.values())), JOBS * width)
        calls = sum(self.proxy.calls.values())
        each = ", ".join(f"{count / JOBS:.1f} {sort}" for sort, count in self.proxy.calls.most_common(12))
        print(f"{JOBS} jobs, {JOBS * width} pods on {NODES} nodes: submitted in {submitted:.0f} s, all over in {took:.0f} s; "
              f"server at most {memory:.0f} MiB; {calls / JOBS:.1f} API calls a job: {each}", flush=True)
        if MEMORY:
            self.assertLessEqual(memory, MEMORY)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
