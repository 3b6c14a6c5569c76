"""The test cluster itself: real parts, real names, real containers, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import cgroups, images, manifests, old_glibc, requirements, sweep, versions  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from kube.traces import Traces  # noqa: E402
from support.world import BINARY, eventually  # noqa: E402

VERSION = versions.chosen()
WITHOUT_CLUSTER = requirements.for_control_plane(VERSION)
WITHOUT_NODES = WITHOUT_CLUSTER or requirements.for_real_nodes()
FAKES = 200

needs_cluster = unittest.skipIf(WITHOUT_CLUSTER, "; ".join(WITHOUT_CLUSTER))
needs_nodes = unittest.skipIf(WITHOUT_NODES, "; ".join(WITHOUT_NODES))
cluster = None


def setUpModule():
    global cluster
    if not WITHOUT_CLUSTER:
        cluster = Cluster(real_nodes=0 if WITHOUT_NODES else 2, fake_nodes=FAKES).start()
        print("up:", cluster.seconds, file=sys.stderr)


def tearDownModule():
    if cluster:
        cluster.stop()
    for part, reasons in (("the cluster", WITHOUT_CLUSTER), ("real nodes", WITHOUT_NODES)):
        if reasons:
            print(f"not run: {part}: {'; '.join(reasons)}", file=sys.stderr)


class InNamespace(unittest.TestCase):
    """Each test in a namespace of its own, named after it."""

    def setUp(self):
        self.space = cluster.namespace(self.id().rsplit(".", 1)[1].replace("_", "-")[5:63].strip("-"))

    def make(self, *objects):
        for made in objects:
            cluster.kubectl("-n", self.space, "create", "-f", "-", input=json.dumps(made))

    def jobs_end(self, name, seconds=300):
        """The Job's status, when it says that it has ended."""
        path = f"/apis/batch/v1/namespaces/{self.space}/jobs/{name}"

        def ended():
            status = cluster.api.get(path)["status"]
            final = [c for c in status.get("conditions", []) if c["type"] in ("Complete", "Failed")]
            return status | {"end": final[0]["type"], "reason": final[0]["reason"]} if final else None
        try:
            return eventually(f"the end of job {name}", ended, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.why_not(path, name)}") from None

    def why_not(self, path, name):
        """What the Job says, and its pods that are not over, with their nodes."""
        late = [pod for pod in self.pods(name) if pod["status"]["phase"] not in ("Succeeded", "Failed")]
        nodes = [cluster.kubectl("get", "node", pod["spec"].get("nodeName", "none"), is_checked=False) for pod in late[:3]]
        return "\n".join([json.dumps(cluster.api.get(path)["status"])[:2000], f"{len(late)} pods are not over",
                          json.dumps([pod["status"] for pod in late[:3]]), *nodes])[:8000]

    def pods(self, name):
        found = cluster.api.get(f"/api/v1/namespaces/{self.space}/pods?labelSelector=job-name={name}")["items"]
        return sorted(found, key=lambda pod: int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))

    def logs(self, name):
        return [cluster.kubectl("-n", self.space, "logs", pod["metadata"]["name"]) for pod in self.pods(name)]


@needs_cluster
class TheControlPlane(InNamespace):
    def test_it_is_the_version_that_was_pinned(self):
        self.assertEqual(cluster.api.get("/version")["gitVersion"], "v" + VERSION)

    def test_both_contexts_of_the_kubeconfig_are_let_in(self):
        for context in ("muster", "token"):
            self.assertEqual(cluster.kubectl("--context", context, "auth", "can-i", "create", "jobs").strip(), "yes")

    def test_every_program_runs(self):
        programs = cluster.programs()
        wanted = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
        self.assertLessEqual(wanted, set(programs))
        self.assertEqual([name for name, fact in programs.items() if "pid" not in fact], [])


@needs_cluster
class FakeNodes(InNamespace):
    def test_two_hundred_are_ready(self):
        self.assertEqual(len(cluster.api.ready_nodes("fake-")), FAKES)

    def test_a_job_as_wide_as_all_of_them_finishes(self):
        asks = manifests.program("none") | {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
        self.make(manifests.job("wide", FAKES, asks, manifests.FAKE, {"muster.test/run": "1s"}))
        status = self.jobs_end("wide")
        self.assertEqual((status["end"], status["completedIndexes"]), ("Complete", f"0-{FAKES - 1}"))
        self.assertEqual({pod["spec"]["nodeName"][:5] for pod in self.pods("wide")}, {"fake-"})

    def test_a_pod_may_fail_with_a_code_of_ones_choice(self):
        says = {"muster.test/run": "1s", "muster.test/exit": "3", "muster.test/fail-index": "1"}
        rules = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [3]}}]}
        self.make(manifests.job("odd", 4, manifests.program("none"), manifests.FAKE, says, backoffLimitPerIndex=1,
                                podFailurePolicy=rules))
        status = self.jobs_end("odd")
        self.assertEqual((status["end"], status["reason"], status["failedIndexes"]), ("Failed", "FailedIndexes", "1"))
        self.assertEqual(status["completedIndexes"], "0,2,3")


# Each pod serves one line to the other, and asks until it has the other's: both end, in any order.
RING = """
peer=$((1 - JOB_COMPLETION_INDEX))
echo "I am $JOB_COMPLETION_INDEX" | nc -l -p 9000 &
until said=$(nc -w 2 ring-$peer.ring 9000 </dev/null 2>/dev/null) && [ -n "$said" ]; do sleep 0.1; done
echo "$said"
wait
"""


@needs_nodes
class RealNodes(InNamespace):
    def test_pods_on_two_nodes_find_each_other_by_name(self):
        self.make(manifests.names("ring"), manifests.job("ring", 2, manifests.shell(RING), manifests.REAL))
        self.assertEqual(self.jobs_end("ring")["end"], "Complete")
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods("ring")}, {"real-1", "real-2"})
        self.assertEqual(self.logs("ring"), ["I am 1\n", "I am 0\n"])

    def test_a_name_that_nobody_has_is_refused_at_once(self):
        self.make(manifests.job("lost", 1, manifests.shell("nslookup nobody.example. 2>&1 || true"), manifests.REAL))
        self.assertEqual(self.jobs_end("lost")["end"], "Complete")
        self.assertIn("NXDOMAIN", self.logs("lost")[0])

    def test_pods_reach_the_api_server_at_the_address_they_are_told(self):
        script = "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && echo reached"
        self.make(manifests.job("calls", 1, manifests.shell(script), manifests.REAL))
        self.assertEqual(self.jobs_end("calls")["end"], "Complete")
        self.assertEqual(self.logs("calls"), ["reached\n"])

    def test_exit_codes_and_exec_come_through(self):
        script = "while [ ! -e /tmp/go ]; do sleep 0.1; done; exit 7"
        self.make(manifests.job("waits", 1, manifests.shell(script), manifests.REAL))
        pod = eventually("a running pod", lambda: next((pod["metadata"]["name"] for pod in self.pods("waits")
                                                        if pod["status"]["phase"] == "Running"), None), 60)
        cluster.kubectl("-n", self.space, "exec", pod, "--", "touch", "/tmp/go")
        self.assertEqual(self.jobs_end("waits")["end"], "Failed")
        states = self.pods("waits")[0]["status"]["containerStatuses"][0]["state"]
        self.assertEqual(states["terminated"]["exitCode"], 7)

    @unittest.skipUnless(os.path.exists(BINARY), f"there is no {BINARY} to put into an image")
    def test_muster_alone_is_an_image(self):
        with tempfile.TemporaryDirectory() as folder:
            cluster.load_image(images.muster(folder, BINARY))
        self.make(manifests.job("alone", 1, manifests.program(images.MUSTER, "--version"), manifests.REAL))
        self.assertEqual(self.jobs_end("alone")["end"], "Complete")
        here = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.logs("alone"), [here])

    def test_an_image_may_have_an_old_c_library(self):
        try:
            cluster.load_image(old_glibc.image())
        except old_glibc.Unavailable as reason:
            self.skipTest(str(reason))
        script = "/lib/*-linux-gnu/libc.so.6 | head -n 1"
        self.make(manifests.job("old", 1, manifests.shell(script, old_glibc.NAME), manifests.REAL))
        self.assertEqual(self.jobs_end("old")["end"], "Complete")
        self.assertIn("release version 2.31", self.logs("old")[0])

    def test_a_node_whose_plug_is_pulled_is_lost_and_comes_back(self):
        there = manifests.REAL | {"kubernetes.io/hostname": "real-2"}
        self.make(manifests.job("doomed", 1, manifests.shell("sleep 1000000"), there))
        eventually("a running pod", lambda: any(pod["status"]["phase"] == "Running" for pod in self.pods("doomed")), 60)
        cluster.power_off("real-2")
        eventually("the node is missed", lambda: cluster.api.ready_nodes("real-") == ["real-1"], 90)
        cluster.power_on("real-2")
        eventually("the node is back", lambda: cluster.api.ready_nodes("real-") == ["real-1", "real-2"], 90)


@needs_cluster
class NothingIsLeft(unittest.TestCase):
    """Of clusters beside the one above, which must not notice."""

    def tearDown(self):
        self.assertTrue(cluster.api.answers("/readyz"))

    @needs_nodes
    def test_when_the_keeper_is_killed(self):
        with Cluster(real_nodes=1) as other:
            pod = manifests.job("stays", 1, manifests.shell("sleep 1000000"), manifests.REAL)
            other.kubectl("create", "-f", "-", input=json.dumps(pod))
            eventually("a container", lambda: "sleep 1000000" in Traces(other).commands(), 60)
            traces = Traces(other)
            self.assertGreater(len(traces.processes), 8)
            self.assertGreaterEqual(len(traces.namespaces), 5, "of pids, mounts and networks")
            self.assertTrue(cgroups.present(other.name))
            os.kill(other.pids()["keeper"], signal.SIGKILL)
            eventually("nothing is left", lambda: not traces.left(), 60)
            self.assertEqual(traces.left(), {})

    def test_when_the_owner_is_killed(self):
        owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, env=dict(os.environ, PYTHONPATH=os.path.dirname(versions.HERE)))
        with owner:
            traces = Traces.of(owner.stdout.readline().strip())
            self.assertGreater(len(traces.processes), 4)
            owner.kill()
        eventually("nothing is left", lambda: not traces.left(), 60)

    def test_when_there_is_no_root_either(self):
        with unittest.mock.patch.dict(os.environ, MUSTER_KUBE_ROOTLESS="1"), Cluster(fake_nodes=3) as other:
            self.assertEqual(len(other.api.ready_nodes()), 3)
            traces = Traces(other)
            self.assertEqual(traces.namespaces, set(), "all of it in the namespaces that we are in")
            os.kill(other.pids()["keeper"], signal.SIGKILL)
            eventually("nothing is left", lambda: not traces.left(), 60)

    @needs_nodes
    def test_when_the_keeper_and_its_broom_are_killed_the_next_one_sweeps(self):
        with Cluster(real_nodes=1) as other:
            traces = Traces(other)
            for pid in (traces.broom, other.pids()["keeper"]):
                os.kill(pid, signal.SIGKILL)
            eventually("no process is left", lambda: not traces.left().get("processes"), 60)
            self.assertTrue(cgroups.present(other.name), "nobody was there to remove them")
            self.assertIn(other.name, sweep.clean_dead())
            eventually("nothing is left", lambda: not traces.left(), 60)


OWNER = """
import sys
from kube.cluster import Cluster
print(Cluster().start().name, flush=True)
sys.stdin.read()
"""


class Pins(unittest.TestCase):
    def test_every_module_is_pinned_with_its_checksum(self):
        for version in versions.KUBERNETES:
            for module in versions.modules(version):
                with open(os.path.join(module.folder, "go.mod"), encoding="utf-8") as file:
                    self.assertIn(f"require {module.path} {module.version}\n", file.read())
                with open(os.path.join(module.folder, "go.sum"), encoding="utf-8") as file:
                    self.assertIn(f"{module.path} {module.version} h1:", file.read())


class Images(unittest.TestCase):
    def test_the_same_content_is_the_same_image(self):
        with tempfile.TemporaryDirectory() as folder:
            written = []
            for name in ("a", "b"):
                layer = images.Layer().file("etc/motd", b"hello\n")
                with open(images.write(os.path.join(folder, name), "muster.test/x:1", layer), "rb") as file:
                    written.append(file.read())
        self.assertEqual(written[0], written[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
