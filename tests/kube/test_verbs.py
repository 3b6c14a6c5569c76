"""The verbs towards a cluster: attach, list, doctor, exec, and jobs that move to it and back."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import test_jobs  # noqa: E402
from kube.lab import TOOLS  # noqa: E402
from support.world import BINARY, eventually  # noqa: E402

BESIDE = 'pwd; cat greeting; echo "$WORD"; echo "$RANK of $WORLD_SIZE"'


def setUpModule():
    test_jobs.lab.start()


def tearDownModule():
    test_jobs.lab.stop()


def on_a_terminal(argv, env, cwd, seconds=60):
    """The exit code and what a person would see, on 33 lines of 101 columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    with subprocess.Popen(argv, stdin=follower, stdout=follower, stderr=follower, env=env, cwd=cwd,
                          start_new_session=True) as process:
        os.close(follower)
        seen = b""
        while select.select([leader], [], [], seconds)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # nobody holds the other side any more
                break
            if not piece:
                break
            seen += piece
        os.close(leader)
        return process.wait(timeout=seconds), seen.decode()


class Verbs(test_jobs.Jobs):
    """test_jobs' own scenarios are not run again."""

    prefix = "v-"

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.home, "config.yaml")

    def runs(self, *words):
        ident = self.submit(*words)
        job = self.wait_state(ident, "running", seconds=120)
        # A container that runs may still be taking its code or waiting for the others.
        for rank in range(job["nodes"] * job["procs_per_node"]):
            eventually("its ranks", lambda: self.muster("exec", ident, "--rank", str(rank), "--", "true").returncode == 0, 60)  # noqa: B023
        return ident

    # attach, list, doctor ---------------------------------------------------------------------

    def attach(self, *words, **more):
        return self.muster("cluster", "attach", "--kubeconfig", test_jobs.lab.cluster.kubeconfig, *words, **more)

    def test_an_attached_cluster_runs_a_job(self):
        before = "# mine\ndefault: local   # for now\n"
        self.write(self.path, before)
        done = self.attach("--namespace", self.space, "--image", TOOLS, "new")
        self.assertEqual(done.returncode, 0, done)
        text = done.stdout.decode()
        for line in ("ok   rights muster-jobs", "ok   rights muster-exec", "ok   rights muster-nodes",
                     f"ok   namespace: {self.space}", "ok   nodes: 2 nodes, 2 ready"):
            self.assertIn(line, text)
        with open(self.path, encoding="utf-8") as file:
            after = file.read()
        self.assertTrue(after.startswith(before), after)
        self.assertIn("  new:\n    kind: kube\n    context: muster\n", after)
        ident = self.submit("-c", "new", "--", "echo", "hello")
        self.assertEqual(self.ended(ident)["state"], "succeeded")
        rows = json.loads(self.ok("cluster", "list", "-o", "json"))["clusters"]
        self.assertEqual([(row["name"], row["kind"], row["default"]) for row in rows],
                         [("local", "local", True), ("new", "kube", False)])

    def test_a_dry_run_and_a_taken_name_write_nothing(self):
        for words, code in ((["--dry-run", "new"], 0), (["lab"], 8)):
            done = self.attach("--namespace", self.space, *words)
            self.assertEqual(done.returncode, code, done)
            with open(self.path, encoding="utf-8") as file:
                self.assertEqual(file.read(), self.config)
        self.assertIn("  new:\n", self.attach("--namespace", self.space, "--dry-run", "new").stdout.decode())
        self.assertEqual(self.attach("--namespace", self.space, "--force", "lab").returncode, 0)
        lab = json.loads(self.ok("cluster", "list", "-o", "json"))["clusters"][1]
        self.assertEqual((lab["context"], lab["image"]), ("muster", ""))

    def test_what_fails_is_not_written(self):
        done = self.attach("--namespace", "nowhere", "new", "-o", "json")
        self.assertEqual(done.returncode, 1, done)
        report = json.loads(done.stdout)
        checks = {check["name"]: check for check in report["checks"]}
        self.assertEqual((checks["namespace"]["state"], report["written"]), ("fail", None))
        self.assertEqual(len(report["nodes"]), 2)
        nobody = self.attach("--context", "none", "new")
        self.assertEqual(nobody.returncode, 5, nobody)

    def test_what_a_namespace_enforces(self):
        test_jobs.lab.cluster.kubectl("label", "namespace", self.space, "pod-security.kubernetes.io/enforce=restricted")
        text = self.attach("--namespace", self.space, "--dry-run", "new").stdout.decode()
        self.assertIn("restricted is enforced", text)

    def test_doctor_sees_what_the_server_sees(self):
        done = self.muster("doctor", "--cluster", "lab", "-o", "json")
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual((done.returncode, checks["cluster lab"]["state"]), (0, "ok"), checks)
        self.assertEqual(checks["rights muster-jobs"]["state"], "ok")
        self.write(self.path, self.config.replace(test_jobs.lab.cluster.kubeconfig, "/nowhere"))
        lost = self.muster("doctor", "--cluster", "lab")
        self.assertEqual(lost.returncode, 1, lost)
        self.assertIn(b"/nowhere", lost.stdout)

    # exec -------------------------------------------------------------------------------------

    def test_a_command_beside_each_rank(self):
        ident = self.runs("--nodes", "2", "--cpus", "1", "-e", "WORD=a b", "--", "sleep", "1000")
        for rank in ("0", "1"):
            done = self.muster("exec", ident, "--rank", rank, "--", "sh", "-c", BESIDE)
            self.assertEqual(done.returncode, 0, done)
            lines = done.stdout.decode().split("\n")
            self.assertTrue(lines[0].startswith("/muster/trees/"), lines)
            self.assertEqual(lines[1:], ["hello from the snapshot", "a b", f"{rank} of 2", ""])
        self.assertEqual(self.muster("exec", ident, "--rank", "2", "--", "true").returncode, 5)

    def test_streams_and_exit_codes(self):
        ident = self.runs("--", "sleep", "1000")
        many = bytes(range(256)) * 4096
        done = self.muster("exec", ident, "--", "sh", "-c", "cat; echo told >&2; exit 7", input=many)
        self.assertEqual((done.returncode, done.stdout == many, done.stderr), (7, True, b"told\n"))
        self.assertEqual(self.muster("exec", ident, "--", "no-such-program").returncode, 127)
        self.assertEqual(self.muster("exec", ident, "--", "sh", "-c", "kill -9 $$").returncode, 137)

    def test_a_terminal(self):
        ident = self.runs("--", "sleep", "1000")
        # Its size comes a moment after it has begun.
        shell = 'test -t 0 && test -t 1 && tty; until [ "$(stty size)" = "33 101" ]; do sleep 0.1; done; exit 5'
        code, seen = on_a_terminal([BINARY, "exec", ident, "--", "sh", "-c", shell], self.env, self.dir)
        self.assertEqual(code, 5, seen)
        self.assertIn("/dev/pts/", seen)

    def test_a_job_that_does_not_run(self):
        ident = self.submit("--cpus", "500", "--", "true")
        waiting = self.muster("exec", ident, "--", "true")
        self.assertEqual(waiting.returncode, 8, waiting)
        self.assertIn(b"muster why", waiting.stderr)
        self.ok("abort", ident)
        self.ended(ident)
        over = self.muster("exec", ident, "--", "true")
        self.assertEqual(over.returncode, 8, over)
        self.assertIn(b"has ended (cancelled)", over.stderr)

    # Jobs that move ---------------------------------------------------------------------------

    def again(self, *words, **more):
        return self.ok("resubmit", "-o", "name", *words, **more).decode().strip()

    def test_to_the_cluster_and_back(self):
        shell = 'cat greeting; echo "$WORD|$OWN|$MUSTER_NODE"'
        here = self.submit("-c", "local", "-e", "WORD=a b", "--memory", "64M", "--shell", shell, env=dict(self.env, OWN="mine"))
        self.assertEqual(self.ended(here)["state"], "succeeded")
        self.write(os.path.join(self.dir, "greeting"), "another\n")
        there = self.again("--to", "lab", "--memory", "256M", here)
        job = self.ended(there)
        self.assertEqual((job["state"], job["cluster"], job["pod"]["image"]), ("succeeded", "lab", TOOLS), job)
        node = job["attempts"][0]["nodes"][0]
        self.assertEqual(self.ok("logs", there).decode(), f"hello from the snapshot\na b||{node}\n")
        back = self.again("--to", "local", there, env=dict(self.env, OWN="other"))
        job = self.ended(back)
        self.assertEqual((job["state"], job["cluster"], "pod" in job), ("succeeded", "local", False), job)
        self.assertEqual(self.ok("logs", back).decode(), "hello from the snapshot\na b|other|local\n")

    def test_a_job_that_cannot_move_stays(self):
        here = self.submit("-c", "local", "--here", "--", "sleep", "1000")
        self.wait_state(here, "running")
        for words, code, said in ((["--to", "lab", here], 2, b"in place"), (["--to", "nowhere", here], 5, b"nowhere"),
                                  (["--to", "lab", "-c", "local", here], 2, b"different")):
            done = self.muster("resubmit", *words)
            self.assertEqual(done.returncode, code, done)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.job(here)["state"], "running")


for name in [name for name in dir(test_jobs.Jobs) if name.startswith("test_")]:
    setattr(Verbs, name, None)  # test_jobs runs them


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
