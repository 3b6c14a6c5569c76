"""The Kubernetes client against a real API server, driven through kube_probe and compared with what
kubectl and the server itself say. What needs a kubelet (logs, exec, port-forward) needs real nodes."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import images, requirements, versions  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from support.world import eventually  # noqa: E402

PROBE = os.environ.get("MUSTER_KUBE_PROBE", "build/tests/kube_probe")
VERSION = versions.chosen()
WITHOUT_CLUSTER = requirements.for_control_plane(VERSION)
WITHOUT_NODES = WITHOUT_CLUSTER or requirements.for_real_nodes()
cluster = None


def setUpModule():
    global cluster
    if WITHOUT_CLUSTER:
        print(f"not run: the cluster: {'; '.join(WITHOUT_CLUSTER)}", file=sys.stderr)
    else:
        cluster = Cluster(real_nodes=0 if WITHOUT_NODES else 1).start()
    if WITHOUT_NODES:
        print(f"not run: real nodes: {'; '.join(WITHOUT_NODES)}", file=sys.stderr)


def tearDownModule():
    if cluster:
        cluster.stop()


def job(name, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"app": "probe"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never",
                                           "containers": [{"name": "main", "image": "x"}]}}} | spec}


def restart_server():
    cluster.end_program("kube-apiserver", signal.SIGKILL)
    cluster.start_program("kube-apiserver")
    eventually("the server", lambda: cluster.api.answers("/readyz"), 120)


class Following:
    """A watch of the probe's, by its lines."""

    def __init__(self, test, kind, mode=""):
        self.file = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PROBE, cluster.kubeconfig, test.space, "watch", kind, "app=probe", mode],
                                        stdout=self.file, text=True)
        test.addCleanup(self.stop)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.file.close()

    def lines(self):
        self.file.seek(0)
        return self.file.read().splitlines()

    def names(self):
        """What is there, as the watch told it: begun anew at each `begin`."""
        known, seen, is_listing = set(), set(), False
        for line in self.lines():
            sign, _, rest = line.partition(" ")
            name = rest.split(" ")[0].partition("/")[2]
            if line == "begin":
                seen, is_listing = set(), True
            elif line == "synced":
                known, is_listing = seen, False
            elif sign in "+*":
                (seen if is_listing else known).add(name)
            elif sign == "-":
                (seen if is_listing else known).discard(name)
        return known


class Probing(unittest.TestCase):
    """Each test in a namespace of its own, named after it."""

    def setUp(self):
        self.space = cluster.namespace(self.id().rsplit(".", 1)[1].replace("_", "-")[5:63].strip("-"))

    def probe(self, *words, input="", code=0):
        done = subprocess.run([PROBE, cluster.kubeconfig, self.space, *words], input=input, text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return done.stdout if code == 0 else done.stderr


@unittest.skipIf(WITHOUT_CLUSTER, "; ".join(WITHOUT_CLUSTER))
class Client(Probing):
    def create(self, *names):
        for name in names:
            self.probe("create", "jobs.v1.batch", input=json.dumps(job(name, suspend=True)))

    def test_what_is_made_is_what_kubectl_sees(self):
        made = json.loads(self.probe("create", "jobs.v1.batch", input=json.dumps(job("a", suspend=True))))
        seen = json.loads(cluster.kubectl("-n", self.space, "get", "job", "a", "-o", "json"))
        self.assertEqual(made["metadata"]["uid"], seen["metadata"]["uid"])
        self.assertEqual(json.loads(self.probe("get", "jobs.v1.batch", "a"))["spec"], seen["spec"])
        self.assertEqual(self.probe("create", "jobs.v1.batch", input=json.dumps(job("a"))).strip(), "exists")

    def test_a_dry_run_makes_nothing_and_unknown_fields_are_refused(self):
        self.probe("create", "jobs.v1.batch", "dry", input=json.dumps(job("a")))
        self.assertIn("not_found 404 NotFound", self.probe("get", "jobs.v1.batch", "a", code=1))
        error = self.probe("create", "jobs.v1.batch", "dry", input=json.dumps(job("a", completionmode="x")), code=1)
        self.assertIn("usage 400 BadRequest", error)
        self.assertIn('unknown field "spec.completionmode"', error)

    def test_apply_owns_its_fields(self):
        for value in ("1", "2"):
            self.probe("apply", "configmaps.v1", "m", input=json.dumps(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": value}}))
        seen = json.loads(cluster.kubectl("-n", self.space, "get", "configmap", "m", "-o", "json", "--show-managed-fields"))
        self.assertEqual(seen["data"], {"k": "2"})
        self.assertEqual([(f["manager"], f["operation"]) for f in seen["metadata"]["managedFields"]], [("muster", "Apply")])

    def test_only_the_very_object_is_deleted(self):
        self.create("a")
        self.assertIn("conflict 409 Conflict", self.probe("delete", "jobs.v1.batch", "a", "another", code=1))
        self.assertEqual(self.probe("delete", "jobs.v1.batch", "a").strip(), "removed")
        eventually("the end of a", lambda: self.probe("delete", "jobs.v1.batch", "a").strip() == "absent")

    def test_lists_come_in_pages(self):
        self.create(*(f"j{i}" for i in range(7)))
        lines = self.probe("list", "jobs.v1.batch", "app=probe", "3").splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("+")]), 7)
        self.assertIn("listed 7 at ", lines[-1])

    def test_discovery_names_what_kubectl_names(self):
        lines = self.probe("discover").splitlines()
        mine = {(w[0], w[2]) for w in (line.split() for line in lines[1:])}
        for line in cluster.kubectl("api-resources", "--no-headers").splitlines():
            words = line.split()
            group, _, _ = words[-3].rpartition("/")
            self.assertIn((words[0], group or "-"), mine)

    def test_rights_are_asked_of_the_cluster(self):
        self.assertEqual(self.probe("can-i", "create", "pods.v1", "exec").strip(), "yes")

    def test_a_watch_outlives_its_server(self):
        for mode in ("", "list"):
            with self.subTest(mode=mode):
                watch = Following(self, "jobs.v1.batch", mode)
                eventually("the list", lambda: "synced" in watch.lines())
                first, second = f"a{mode}", f"b{mode}"
                self.create(first)
                eventually(first, lambda: first in watch.names())
                restart_server()
                self.create(second)
                self.probe("delete", "jobs.v1.batch", first)
                eventually("both changes", lambda: second in watch.names() and first not in watch.names(), 120)

    def test_a_wrong_authority_is_refused(self):
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-days", "1",
                            "-keyout", f"{folder}/key", "-out", f"{folder}/ca.crt"], check=True, capture_output=True)
            for entry in config["clusters"]:
                entry["cluster"].pop("certificate-authority-data", None)
                entry["cluster"]["certificate-authority"] = "ca.crt"
            with open(f"{folder}/config", "w", encoding="utf-8") as file:
                json.dump(config, file)
            done = subprocess.run([PROBE, f"{folder}/config", self.space, "discover"], capture_output=True, text=True,
                                  timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("denied 0", done.stderr)
        self.assertIn("its authority is not the cluster's", done.stderr)


@unittest.skipIf(WITHOUT_NODES, "; ".join(WITHOUT_NODES))
class OnRealNodes(Probing):
    """Logs, commands and ports of real containers."""

    def start(self, name, script):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
               "spec": {"restartPolicy": "Never", "nodeSelector": {"muster.test/node": "real"},
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{"name": "main", "image": images.BUSYBOX, "imagePullPolicy": "Never",
                                        "command": ["sh", "-ec", script]}]}}
        cluster.kubectl("-n", self.space, "create", "-f", "-", input=json.dumps(pod))

    def runs(self, name, script="sleep 600"):
        self.start(name, script)
        path = f"/api/v1/namespaces/{self.space}/pods/{name}"
        eventually(f"pod {name}", lambda: cluster.api.get(path)["status"]["phase"] == "Running", 120)

    def test_a_log_is_followed_from_before_its_beginning_to_its_end(self):
        self.start("talks", "for i in $(seq 2000); do echo line $i; done; sleep 1; printf 'the end'")
        lines = self.probe("logs", "talks", "main", "end").split("\n")
        self.assertEqual(lines, [f"line {i}" for i in range(1, 2001)] + ["the end"])

    def test_a_followed_log_outlives_the_server(self):
        self.start("talks", "for i in $(seq 300); do echo line $i; sleep 0.05; done")
        with tempfile.TemporaryFile("w+") as said:
            following = subprocess.Popen([PROBE, cluster.kubeconfig, self.space, "logs", "talks", "main", "end"],
                                         stdout=said)
            self.addCleanup(following.kill)
            eventually("the first line", lambda: os.fstat(said.fileno()).st_size > 0, 120)
            restart_server()
            self.assertEqual(following.wait(timeout=180), 0)
            said.seek(0)
            self.assertEqual(said.read().splitlines(), [f"line {i}" for i in range(1, 301)])

    def test_a_command_has_its_exit_code_and_its_streams(self):
        self.runs("host")
        done = subprocess.run([PROBE, cluster.kubeconfig, self.space, "exec", "host", "main", "none", "sh", "-c",
                               "echo out; echo err >&2; exit 7"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))

    def test_input_is_sent_whole_and_its_end_is_seen(self):
        self.runs("host")
        sent = random.Random(1).randbytes(3_000_000)
        done = subprocess.run([PROBE, cluster.kubeconfig, self.space, "exec", "host", "main", "in", "cat"], input=sent,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, sent)

    def test_a_port_of_a_pod_is_reached_here(self):
        self.runs("serves", "while true; do echo hello from the pod | nc -l -p 9000; done")
        forwarding = subprocess.Popen([PROBE, cluster.kubeconfig, self.space, "port-forward", "serves", "9000"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = int(forwarding.stdout.readline())

        def answer():
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                return connection.makefile().readline()
        try:
            self.assertEqual(eventually("an answer", answer, 60), "hello from the pod\n")
        finally:
            forwarding.communicate("", timeout=60)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
