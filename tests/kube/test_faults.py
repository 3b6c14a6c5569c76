"""Jobs through a proxy that breaks things: nothing is lost, made twice or told wrongly, and half a minute
after the last fault all is as if there had been none."""

import os
import random
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.fake_jobs import SEED, FakeJobs, asked, replay, start_cluster, stop_cluster  # noqa: E402
from kube.faults import Faults  # noqa: E402

FAULTS = asked("FAULTS", 100)
AT_ONCE = 16
CONVERGED = 30  # seconds after the last fault


def setUpModule():
    start_cluster(fake_nodes=20)


def tearDownModule():
    stop_cluster("faults of the API server")


class ApiFaults(FakeJobs):
    def kubeconfig_of(self):
        return self.through_proxy(Faults(SEED, FAULTS))

    def test_nothing_is_lost_or_made_twice(self):
        print(replay("test_faults", faults=FAULTS), flush=True)
        rng, faults, number, aborted = random.Random(SEED), self.proxy.faults, 0, set()
        while faults.left > 0:
            waiting = self.unfinished()
            for _ in range(AT_ONCE - len(waiting)):
                flags = ("--nodes", str(rng.choice((2, 3)))) if rng.random() < 0.2 else ()
                ident = self.submit_fake(number, rng.randrange(200, 3000), *flags)
                number += 1
                if rng.random() < 0.1:
                    aborted.add(ident)
            for job in waiting:
                if job["id"] in aborted and rng.random() < 0.3:
                    self.muster("abort", job["id"])
            time.sleep(0.2)  # the pace of submitting, nothing waits for it
        self.converge(max(1.0, faults.last + CONVERGED - time.monotonic()))
        took = time.monotonic() - faults.last
        self.check_ledger(aborted)
        print(f"{number} jobs, {FAULTS} faults ({faults}): converged {took:.1f} s after the last", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
