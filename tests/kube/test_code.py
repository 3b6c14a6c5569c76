"""The ways by which code gets into pods, on real kubelets: each is chosen, used, and refused to others."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.control_plane import CONTROL  # noqa: E402
from kube.lab import Lab, OnCluster  # noqa: E402
from support.world import BINARY, eventually  # noqa: E402

PORT = 7800
lab = Lab()
READS = 'cat greeting; wc -c < large'
SAID = b"hello from the snapshot\n2097152\n"


def setUpModule():
    lab.start()


def tearDownModule():
    lab.stop()


class WithCode(OnCluster):
    lab = lab

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.dir, "large"), "wb") as file:
            file.write(os.urandom(2 << 20))  # more than a Secret holds

    def ways(self):
        """By the names of the Jobs that are there: how their code comes."""
        jobs = json.loads(self.kubectl("get", "jobs", "-o", "json"))["items"]
        return {job["metadata"]["name"]: job["metadata"]["annotations"]["muster.dev/code"] for job in jobs}

    def held(self, *words, shell=READS):
        """A job that has read its code and waits for the end of the test, and the one way it came."""
        ident = self.submit(*words, "--", "sh", "-c", shell + "; sleep 1000")
        eventually("what it read", lambda: self.ok("logs", ident).count(b"\n") >= 2, 120)
        (way,) = self.ways().values()
        return ident, way

    def read_by(self, ident, *ranks):
        for rank in ranks or (0,):
            self.assertEqual(self.ok("logs", "--rank", str(rank), ident), SAID)

    def away(self, ident):
        self.ok("abort", ident)
        self.ended(ident)
        eventually("nothing of it is left", lambda: not self.kubectl("get", "jobs,pods", "-o", "name"), 60)


class OnAVolume(WithCode):
    """A volume that this machine and all nodes see."""

    prefix = "vol-"

    def setUp(self):
        self.volume = tempfile.mkdtemp(prefix="muster-volume-")
        super().setUp()
        name = "code-" + self.space
        self.cluster.api.post("/api/v1/persistentvolumes", {
            "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                     "hostPath": {"path": self.volume}, "claimRef": {"namespace": self.space, "name": "team-code"}}})
        self.cluster.api.post(f"/api/v1/namespaces/{self.space}/persistentvolumeclaims", {
            "metadata": {"name": "team-code"},
            "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": name,
                     "resources": {"requests": {"storage": "1Gi"}}}})

    def tearDown(self):
        super().tearDown()
        shutil.rmtree(self.volume, ignore_errors=True)

    def use(self, store):
        self.write(os.path.join(self.home, "config.yaml"), self.config + f"    store: {store}\n")

    def stored(self):
        return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.volume) for name in names)

    def test_the_server_writes_and_the_pods_read(self):
        self.use(f"team-code:{self.volume}")
        shown = self.ok("submit", "--dry-run", "-o", "json", "--", "true").decode()
        self.assertIn('"muster.dev/code": "store"', json.dumps(json.loads(shown)))
        ident, way = self.held("--nodes", "2", "--cpus", "1", shell=READS + "; touch /muster/code/mine 2>&1 | grep -c Read-only")
        self.assertEqual(way, "store")
        for rank in (0, 1):
            eventually("both", lambda: self.ok("logs", "--rank", str(rank), ident) == SAID + b"1\n", 60)  # noqa: B023
        self.assertEqual([], [name for name in self.kubectl("get", "secrets", "-o", "name").split() if name.endswith("-code")])
        self.away(ident)
        before = self.stored()
        self.write(os.path.join(self.dir, "greeting"), "another\n")
        again = self.end("--", "sh", "-c", READS)
        self.assertEqual(self.ok("logs", again), b"another\n2097152\n")
        self.assertLess(self.stored() - before, 100_000, "only what is new was sent")

    def test_a_folder_that_is_not_there_is_told(self):
        self.use("team-code:/nowhere/at/all")
        job = self.ended(self.submit("--", "true"))
        self.assertEqual((job["state"], job["cause"]), ("failed", "blob_storage"), job)
        self.assertIn("/nowhere/at/all", job["attempts"][0]["evidence"][0])
        self.assertFalse(os.path.exists("/nowhere"))

    def test_a_folder_of_another_volume_is_told(self):
        with tempfile.TemporaryDirectory() as other:
            self.use(f"team-code:{other}")
            job = self.ended(self.submit("--", "true"))
        self.assertEqual(job["state"], "failed", job)
        self.assertIn("the store does not have the job's code", json.dumps(job["attempts"][0]["evidence"]))

    def test_damage_in_the_store_is_not_run(self):
        self.use(f"team-code:{self.volume}")
        self.assertEqual(self.ended(self.submit("--", "true"))["state"], "succeeded")
        for at, _, names in os.walk(os.path.join(self.volume, "v1/packs")):
            for name in names:
                with open(os.path.join(at, name), "r+b") as file:
                    file.seek(100)
                    file.write(b"damaged")
        job = self.ended(self.submit("--", "true"))
        self.assertEqual((job["state"], job["cause"]), ("failed", "corrupt_input"), job)

    def test_without_a_folder_it_goes_through_a_pod_once(self):
        self.use("team-code")
        ident, way = self.held("--nodes", "2", "--cpus", "1")
        self.assertEqual(way, "claim")
        eventually("both", lambda: self.ok("logs", "--rank", "1", ident) == SAID, 60)
        self.away(ident)
        before = self.stored()
        self.assertGreater(before, 2 << 20)
        again, _ = self.held()
        self.read_by(again)
        self.assertEqual(self.stored(), before, "what is there is not sent again")

    def test_small_code_still_rides_in_a_secret(self):
        self.use("team-code")
        os.remove(os.path.join(self.dir, "large"))
        ident, way = self.held(shell="cat greeting; echo")
        self.assertEqual((way, self.stored()), ("secret", 0))
        self.away(ident)


class FromTheServer(WithCode):
    """The server where pods reach it."""

    prefix = "srv-"

    def setUp(self):
        super().setUp()
        self.serve()

    def serve(self):
        words = [BINARY, "serve", "--listen", f"{CONTROL}:{PORT}"]
        self.server = subprocess.Popen(self.cluster.inside(*words), env=self.env, stderr=subprocess.PIPE)
        self.addCleanup(self.server.communicate, timeout=60)

        def is_up():
            self.assertIsNone(self.server.poll(), self.server.poll() is not None and self.server.stderr.read())
            return self.asks("/")[0] == 403
        # No command before it answers: that would start a server of its own.
        eventually("it serves", is_up, 60)

    def serve_anew(self):
        self.kill_server()
        self.server.wait(60)  # until then it has the home
        self.serve()

    def asks(self, path, token=None, method="GET"):
        """Status and body, as a pod gets them."""
        script = ("import http.client, sys, json\n"
                  f"c = http.client.HTTPConnection({CONTROL!r}, {PORT}, timeout=30)\n"
                  "method, path, headers = json.loads(sys.argv[1])\n"
                  "try:\n    c.request(method, path, headers=headers)\nexcept OSError: print(0); sys.exit()\n"
                  "a = c.getresponse()\nbody = a.read()\nprint(a.status, len(body))\n")
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        done = subprocess.run(self.cluster.inside(sys.executable, "-c", script, json.dumps([method, path, headers])),
                              capture_output=True, check=True, timeout=60)
        words = done.stdout.split()
        return int(words[0]), int(words[1]) if len(words) > 1 else 0

    def plan_of(self, name):
        """Snapshot and token, from the attempt's Secret."""
        text = self.kubectl("get", "secret", name, "-o", "go-template={{index .data \"plan\" | base64decode}}")
        folder = json.loads(text)["folder"]
        return folder["snapshot"], folder["token"]

    def test_pods_get_exactly_their_own_code_while_they_live(self):
        first, way = self.held("--nodes", "2", "--cpus", "1")
        self.assertEqual(way, "server")
        eventually("both", lambda: self.ok("logs", "--rank", "1", first) == SAID, 60)
        (one,) = self.ways()
        self.write(os.path.join(self.dir, "greeting"), "another\n")
        second = self.submit("--", "sh", "-c", READS + "; sleep 1000")
        eventually("what the second read", lambda: self.ok("logs", second) == b"another\n2097152\n", 120)
        (two,) = set(self.ways()) - {one}
        code, token = self.plan_of(one)
        other_code, other_token = self.plan_of(two)
        self.assertNotEqual(token, other_token)
        route = "/v1/agent/snapshot/"
        status, size = self.asks(route + code, token)
        self.assertEqual(status, 200)
        self.assertGreater(size, 2 << 20)
        refused = {
            "no token": self.asks(route + code),
            "an empty token": self.asks(route + code, ""),
            "a wrong token": self.asks(route + code, "0" * len(token)),
            "a part of it": self.asks(route + code, token[:-1]),
            "another attempt's token": self.asks(route + code, other_token),
            "another attempt's code": self.asks(route + other_code, token),
            "code that nobody has": self.asks(route + "0" * 64, token),
            "a way out": self.asks(route + "../../../../etc/passwd", token),
            "jobs": self.asks("/v1/jobs", token),
            "jobs without a token": self.asks("/v1/jobs"),
            "the server's end": self.asks("/v1/server:stop", token, "POST"),
            "another method": self.asks(route + code, token, "DELETE"),
        }
        self.assertEqual({what: answer[0] for what, answer in refused.items()}, dict.fromkeys(refused, 403))
        self.serve_anew()
        eventually("the next server knows it", lambda: self.asks(route + code, token)[0] == 200, 60)
        self.ok("abort", first)
        self.ended(first)
        self.assertEqual(self.asks(route + code, token)[0], 403, "it has ended")
        self.assertEqual(self.asks(route + other_code, other_token)[0], 200, "this one has not")

    def test_a_pod_waits_for_a_server_that_is_away(self):
        ident = self.submit("--", "sh", "-c", READS)
        eventually("its Job", self.ways, 60)
        self.serve_anew()
        self.assertEqual(self.ended(ident)["state"], "succeeded")
        self.read_by(ident)

    def test_an_address_that_pods_cannot_use_is_refused(self):
        for words, said in ((["--listen", ":7801"], b"--reached-as"), (["--listen", "nonsense"], b"--listen"),
                            (["--reached-as", "a:1"], b"--listen")):
            done = self.muster("serve", *words, env=dict(self.env, MUSTER_HOME=os.path.join(self.base, "other")))
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr)


class FromTheFirstPod(WithCode):
    """One stream for all."""

    prefix = "str-"
    patience = 180

    def streams(self):
        """Pods that the server sent code to, by its log."""
        with open(os.path.join(self.home, "server.log"), encoding="utf-8") as file:
            return {line.split("pod=")[1].strip() for line in file if "code was sent" in line}

    def gang(self):
        node = json.loads(self.cluster.kubectl("get", "node", "real-1", "-o", "json"))
        most = int(node["status"]["allocatable"]["cpu"])
        # More than half of a node: the network between nodes is what is tested.
        ident = self.submit("--nodes", "2", "--cpus", str(most // 2 + 1), "--", "sh", "-c", READS)
        job = self.ended(ident, self.patience)
        self.assertEqual(job["state"], "succeeded", (job, self.ok("why", ident)))
        self.read_by(ident, 0, 1)
        return ident

    def test_the_others_ask_the_first(self):
        self.gang()
        self.assertEqual(len(self.streams()), 1, self.streams())

    def test_where_the_network_refuses_all_get_a_stream(self):
        for node in ("real-1", "real-2"):
            self.cluster.close_port(node, 29498)
            self.addCleanup(self.cluster.open_port, node, 29498)
        self.gang()
        self.assertEqual(len(self.streams()), 2, self.streams())


del WithCode


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
