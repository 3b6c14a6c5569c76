"""Jobs of the real program on fake nodes: how long each runs and how it ends is in its name
(stages.yaml). What they must come to is kept in a ledger, and compared with what muster says and with
what an audit has seen in the cluster."""

import json
import os
import random
import sys
import tempfile
import time
import unittest

from support.world import World, eventually

from . import manifests, requirements, versions
from .audit import Audit
from .cluster import Cluster
from .fault_proxy import FaultProxy

WITHOUT = requirements.for_control_plane(versions.chosen())
UNFINISHED = "queued,starting,running,stopping,held"
CONFIG = """
default: lab
clusters:
  lab:
    kind: kube
    kubeconfig: {kubeconfig}
    namespace: {space}
    image: muster.test/none:1
    node_selector: {{{selector}}}
    grace: 1s
    retries: {{infra: 0}}
"""


def asked(name, default):
    """A count from the environment: MUSTER_KUBE_NAME."""
    return int(os.environ.get(f"MUSTER_KUBE_{name}", str(default)))


SEED = asked("SEED", random.randrange(1 << 30))


def replay(suite, **counts):
    """The one command that runs a suite again as it is run now."""
    words = " ".join(f"MUSTER_KUBE_{name.upper()}={count}" for name, count in counts.items())
    return f"replay: MUSTER_KUBE_SEED={SEED} {words} python3 tests/kube/{suite}.py"


def start_cluster(fake_nodes):
    """For a suite's setUpModule."""
    if not WITHOUT:
        FakeJobs.cluster = Cluster(fake_nodes=fake_nodes).start()
        print("up:", FakeJobs.cluster.seconds, file=sys.stderr)


def stop_cluster(what):
    """For its tearDownModule; `what` could not be run if there is none."""
    if FakeJobs.cluster:
        FakeJobs.cluster.stop()
    if WITHOUT:
        print(f"not run: {what}:", "; ".join(WITHOUT), file=sys.stderr)


@unittest.skipIf(WITHOUT, "; ".join(WITHOUT))
class FakeJobs(World):
    """`cluster` is the suite's; `kubeconfig_of()` may put something between muster and it."""

    cluster = None
    code = "snapshot"

    def setUp(self):
        self.space = self.cluster.namespace("t-" + self.id().rsplit(".", 1)[1].replace("_", "-")[5:50].strip("-"))
        self.audit = Audit(self.cluster, self.space)
        self.addCleanup(self.audit.stop)
        selector = ", ".join(f"{key}: {value}" for key, value in manifests.FAKE.items())
        self.config = CONFIG.format(kubeconfig=self.kubeconfig_of(), space=self.space, selector=selector)
        super().setUp()
        self.write(os.path.join(self.dir, "code"), "something to send\n")
        self.ledger = {}  # name -> id

    def kubeconfig_of(self):
        return self.cluster.kubeconfig

    def through_proxy(self, faults=None):
        """The kubeconfig of a proxy that counts, and breaks what `faults` says."""
        self.proxy = FaultProxy(self.cluster, faults)
        self.proxy.__enter__()
        self.addCleanup(self.proxy.__exit__)
        return self.proxy.kubeconfig(self.temporary_file("kubeconfig"))

    def temporary_file(self, name):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, name)

    @staticmethod
    def name_of(number, milliseconds):
        return f"run-{milliseconds}ms-exit-{exit_of(number)}-n-{number}"

    def submit_fake(self, number, milliseconds, *flags):
        """With a key: a client that does not hear an answer (6) asks again."""
        name = self.name_of(number, milliseconds)
        words = ("submit", "-o", "name", "--key", name, "--name", name, "--cpus", "1", *flags, "--", "true")
        for _ in range(100):
            done = self.muster(*words, timeout=300)
            if done.returncode != 6:
                break
        self.assertEqual(done.returncode, 0, done)
        self.ledger[name] = done.stdout.decode().strip()
        return self.ledger[name]

    def unfinished(self, *flags):
        return json.loads(self.ok("query", "-o", "json", "--state", UNFINISHED, *(flags or ["--all"])))["jobs"]

    # What must be true at the end -----------------------------------------------------------------

    def converge(self, seconds):
        """Every job final, and nothing of them left in the cluster."""
        deadline = time.monotonic() + seconds
        try:
            # Seldom, and one is enough: looking at thousands of jobs is work for the server, too.
            eventually("every job final", lambda: not self.unfinished("--last", "1") or time.sleep(0.2), seconds)
            eventually("nothing left in the cluster", lambda: not self.audit.left and not self.parts_left(),
                       max(1, deadline - time.monotonic()))
        except AssertionError as error:
            stuck = "\n".join(f"{job['name']} {job['state']}: {self.muster('why', job['id']).stdout.decode()}"
                              for job in self.unfinished()[:5])
            left = [*self.audit.left[:10], *self.parts_left()[:10]]
            raise AssertionError(f"{error}\nleft: {left}\ntwice: {self.audit.duplicates()}\n{stuck}\n{self.log_end()}") from None

    def parts_left(self):
        return [item["metadata"]["name"] for kind in ("secrets", "services")
                for item in self.cluster.api.get(f"/api/v1/namespaces/{self.space}/{kind}")["items"]]

    def log_end(self, lines=40):
        with open(os.path.join(self.home, "server.log"), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def check_ledger(self, aborted=()):
        self.assertIsNone(self.audit.trouble)
        self.assertEqual(self.audit.duplicates(), {}, "made more than once")
        jobs = self.jobs()
        self.assertEqual(len({job["name"] for job in jobs}), len(jobs), "a job twice")
        self.assertEqual({job["name"]: job["id"] for job in jobs}, self.ledger, "lost, or made without an answer")
        wrong = []
        for job in jobs:
            code = int(job["name"].split("-")[3])
            wanted = [("succeeded" if code == 0 else "failed", code, 1)]
            if job["id"] in aborted:
                wanted += [("cancelled", job["exit_code"], attempt) for attempt in (0, 1)]
            if (job["state"], job["exit_code"], job["attempt"]) not in wanted:
                wrong.append([job[key] for key in ("name", "nodes", "state", "exit_code", "attempt", "cause")])
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(jobs)} ended wrongly")
        self.assertLessEqual(len(self.audit.jobs), len(jobs))


def exit_of(number):
    return number % 7 if number % 2 else 0
