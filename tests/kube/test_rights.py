"""Jobs with exactly the rights that muster asks for: all shipped roles, and the needed one alone."""

import json
import os
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import accounts, test_jobs  # noqa: E402
from support.world import eventually  # noqa: E402


def setUpModule():
    test_jobs.lab.start()


def tearDownModule():
    test_jobs.lab.stop()


class Limited(test_jobs.Jobs):
    """The scenarios of test_jobs, by an account that has only these roles."""

    roles = ()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        super().setUp()
        cluster = test_jobs.lab.cluster
        self.kubeconfig = accounts.make(cluster, self.space, self.roles, self.folder.name)
        self.config = self.config.replace(cluster.kubeconfig, self.kubeconfig)
        self.write(os.path.join(self.home, "config.yaml"), self.config)

    def tearDown(self):
        super().tearDown()
        self.folder.cleanup()

    def large_code(self):
        """More than a Secret holds, and not to be packed."""
        with open(os.path.join(self.dir, "large"), "wb") as file:
            file.write(os.urandom(2 << 20))

    def checks(self):
        report = json.loads(self.muster("doctor", "--cluster", "lab", "-o", "json").stdout)
        return {check["name"]: check for check in report["checks"]}

    def sends_usr1(self):
        """A job that ends with 6 when it hears USR1, and the signal on its way."""
        ident = self.submit("--", "sh", "-c", "trap 'exit 6' USR1; echo up; while :; do sleep 0.1; done")
        eventually("its first line", lambda: self.ok("logs", ident), 120)
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(os.path.join(self.home, "socket"))
            door.sendall(f"POST /v1/jobs/{ident}:signal?number={int(signal.SIGUSR1)} HTTP/1.1\r\nHost: muster\r\n"
                         "Content-Length: 0\r\n\r\n".encode())
            self.assertIn(b" 200 ", door.recv(100))
        return ident

    def test_no_secret_can_be_read(self):
        for verb in ("get", "list", "watch"):
            answer = test_jobs.lab.cluster.kubectl("--kubeconfig", self.kubeconfig, "-n", self.space, "auth", "can-i", verb,
                                               "secrets", is_checked=False)
            self.assertEqual(answer.strip(), "no", verb)


class AllRoles(Limited):
    """Everything works."""

    prefix = "all-"

    def test_code_by_stream(self):
        self.large_code()
        ident = self.end("--", "sh", "-c", "wc -c < large")
        self.assertEqual(self.ok("logs", ident).split(), [b"2097152"], self.ok("why", ident))

    def test_a_signal_arrives(self):
        self.assertEqual(self.ended(self.sends_usr1())["exit_code"], 6)

    def test_nothing_is_missing(self):
        checks = self.checks()
        for role in ("muster-jobs", "muster-exec", "muster-nodes"):
            self.assertEqual(checks["rights " + role]["state"], "ok", checks)
        self.assertEqual(checks["nodes"]["state"], "ok", checks)
        self.assertEqual(checks["cluster lab"]["state"], "ok", checks)


    def test_a_needed_right_that_was_taken_away_is_named(self):
        role = json.loads(test_jobs.lab.cluster.kubectl("-n", self.space, "get", "role", "muster-jobs", "-o", "json"))
        at = [rule["resources"] for rule in role["rules"]].index(["secrets"])
        test_jobs.lab.cluster.kubectl("-n", self.space, "patch", "role", "muster-jobs", "--type=json", "-p",
                                  json.dumps([{"op": "remove", "path": f"/rules/{at}"}]))
        check = self.checks()["rights muster-jobs"]
        self.assertEqual(check["state"], "fail", check)
        self.assertIn("may not create, patch, delete secrets;", check["text"])
        job = self.ended(self.submit("--", "true"))
        self.assertEqual((job["state"], job["cause"]), ("failed", "user_config"), job)
        self.assertIn("cannot create resource \"secrets\"", job["attempts"][0]["evidence"][0])


class JobsRoleAlone(Limited):
    """The rest works, and what is missing is named."""

    prefix = "jobs-"
    roles = ("muster-jobs",)

    def test_what_is_missing_is_named(self):
        checks = self.checks()
        self.assertEqual(checks["rights muster-jobs"]["state"], "ok", checks)
        for role, word in (("muster-exec", "signals"), ("muster-nodes", "nodes")):
            check = checks["rights " + role]
            self.assertEqual(check["state"], "warn", checks)
            self.assertIn(word, check["text"])
            self.assertIn(f"muster cluster roles {role} --namespace {self.space}", check["fix"])
        self.assertIn("cannot be listed", checks["nodes"]["text"])
        self.assertEqual(checks["cluster lab"]["state"], "ok", checks)

    def test_code_by_stream_is_refused_by_name(self):
        self.large_code()
        ident = self.submit("--", "true")
        why = eventually("the reason", lambda: (lambda text: text if b"muster-exec" in text else None)(self.ok("why", ident)), 60)
        self.assertIn(b"fix:", why)
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "user_config"), job)
        self.assertIn("muster-exec", job["attempts"][0]["evidence"][0])

    def test_a_signal_that_does_not_arrive_is_told(self):
        self.sends_usr1()
        eventually("the log tells", lambda: any("signal" in line and "muster-exec" in line for line in self.log_lines()), 60)

    def log_lines(self):
        with open(os.path.join(self.home, "server.log"), encoding="utf-8") as file:
            return file.readlines()

    def test_exec_is_refused_by_name(self):
        ident = self.submit("--", "sleep", "1000")
        self.wait_state(ident, "running", seconds=120)
        done = self.muster("exec", ident, "--", "true")
        self.assertEqual(done.returncode, 4, done)
        self.assertIn(b"muster-exec", done.stderr)


del Limited


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
