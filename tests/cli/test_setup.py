"""The set-up of a job's code: once for each content, never twice at once, never ignored."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402


class Setup(World):
    code = "snapshot"
    config = "clusters:\n  local:\n    nodes: [{name: desk, cpus: 8, memory: 1G}]\n"

    def setUp(self):
        super().setUp()
        self.runs = os.path.join(self.base, "runs")
        self.text = f"echo setting up; echo run >> {self.runs}; sleep 0.3; echo built > built.txt"

    def count(self):
        if not os.path.exists(self.runs):
            return 0
        with open(self.runs, encoding="utf-8") as file:
            return len(file.readlines())

    def test_it_runs_once_for_many_jobs_and_all_see_what_it_made(self):
        self.write(os.path.join(self.dir, "a.txt"), "1")
        jobs = [self.submit("--setup", self.text, "--", "cat", "built.txt") for _ in range(5)]
        for ident in jobs:
            self.ok("wait", ident)
            self.assertEqual(self.ok("logs", ident), b"built\n")
        self.assertEqual(self.count(), 1)
        self.assertEqual(sorted(os.listdir(self.dir)), ["a.txt"])
        self.write(os.path.join(self.dir, "a.txt"), "2")
        self.ok("run", "--setup", self.text, "--", "true")
        self.assertEqual(self.count(), 2, "another content is set up anew")

    def test_its_failure_is_the_jobs_with_the_end_of_its_log(self):
        ident = self.submit("--setup", "echo first; echo the real reason >&2; exit 3", "--", "touch", os.path.join(self.base, "ran"))
        self.assertNotEqual(self.muster("wait", ident).returncode, 0)
        job = self.job(ident)
        self.assertEqual(job["cause"], "setup_failed")
        evidence = " ".join(job["attempts"][0]["evidence"])
        self.assertIn("exit code 3", evidence)
        self.assertIn("the real reason", evidence)
        self.assertFalse(os.path.exists(os.path.join(self.base, "ran")))
        with open(os.path.join(self.home, "jobs", ident, "a1", "n0", "setup.log"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "first\nthe real reason\n")
        self.ok("run", "--setup", "true", "--", "true")

    def test_it_is_named_while_it_runs_and_its_words_can_be_read(self):
        mark = os.path.join(self.base, "go")
        ident = self.submit("--setup", f"echo one; echo two >&2; until [ -e {mark} ]; do sleep 0.02; done; echo three", "--", "echo", "job")

        def why():
            return self.ok("why", ident).decode()

        eventually("it is named", lambda: "its set-up is running" in why())
        self.assertIn(f"muster logs --setup -f {ident}", why())
        self.assertEqual(self.ok("logs", "--setup", ident), b"one\ntwo\n")
        self.ok("serve", "--stop")  # the next server hears of it, and does not take it for running
        self.assertEqual(self.job(ident)["state"], "starting")
        eventually("it is named again", lambda: "its set-up is running" in why())
        self.write(mark, "")
        self.ok("wait", ident)
        self.assertEqual(self.ok("logs", "--setup", ident), b"one\ntwo\nthree\n")
        self.assertEqual(self.ok("logs", "--setup", "--tail", "1", "-f", ident), b"three\n")
        self.assertEqual(self.ok("logs", ident), b"job\n")
        self.assertEqual(self.muster("logs", "--setup", "--stderr", ident).returncode, 2)

    def test_it_ends_with_the_time_limit_and_leaves_nothing(self):
        ident = self.submit("--time", "1s", "--setup", "echo begun; sleep 4321 & sleep 4322", "--", "true")
        self.assertNotEqual(self.muster("wait", ident).returncode, 0)
        job = self.job(ident)
        self.assertEqual(job["cause"], "setup_failed")
        self.assertIn("time limit of 1.0s", " ".join(job["attempts"][0]["evidence"]))
        self.assertIn(f"muster logs --setup {ident}", self.ok("why", ident).decode())
        self.assertFalse(self.processes_with("MUSTER_JOB_ID=" + ident))

    def test_an_abort_ends_it_with_all_it_started(self):
        mark = os.path.join(self.base, "started")
        ident = self.submit("--setup", f"sleep 4321 & touch {mark}; wait", "--", "true")
        eventually("it has begun", lambda: os.path.exists(mark))
        self.assertEqual(self.job(ident)["state"], "starting")
        self.ok("abort", ident)
        self.wait_state(ident, "cancelled")
        eventually("nothing is left", lambda: not self.processes_with("MUSTER_JOB_ID=" + ident))

    def test_a_python_environment_for_each_list_of_requirements(self):
        package = os.path.join(self.dir, "pkg")
        os.makedirs(os.path.join(package, "mod"))
        self.write(os.path.join(package, "setup.py"), "from setuptools import setup\nsetup(name='mod', version='1', packages=['mod'])\n")
        self.write(os.path.join(package, "mod", "__init__.py"), "VALUE = 42\n")
        self.write(os.path.join(self.dir, "requirements.txt"), "# nothing\n")
        done = self.ok("run", "--requirements", "requirements.txt", "--", "python3", "-c", "import os, sys; print(sys.prefix == os.environ['VIRTUAL_ENV'])")
        self.assertEqual(done, b"True\n")
        self.ok("run", "--requirements", "requirements.txt", "--", "python3", "-c", "1")
        venvs = os.path.join(self.home, "venvs")
        self.assertEqual(len([name for name in os.listdir(venvs) if not name.endswith(".lock")]), 1)

    def test_requirements_that_cannot_be_met(self):
        self.write(os.path.join(self.dir, "requirements.txt"), "./no-such-package\n")
        ident = self.submit("--requirements", "requirements.txt", "--", "true")
        self.assertNotEqual(self.muster("wait", ident).returncode, 0)
        self.assertEqual(self.job(ident)["cause"], "setup_failed")
        self.assertIn("no-such-package", " ".join(self.job(ident)["attempts"][0]["evidence"]))

    def test_what_it_wrote_is_not_the_jobs_change(self):
        for name in ("kept", "edited", "shaped"):
            self.write(os.path.join(self.dir, name), "as taken\n")
        setup = "echo built > built.txt; echo by set-up > shaped; mkdir made; echo m > made/one; mkfifo pipe; ln -s kept link"
        script = "echo job >> shaped; echo by job >> edited; rm made/one; echo n > new; touch built.txt"
        ident = self.submit("--setup", setup, "--shell", script)
        self.ok("wait", ident)
        lines = [b"M edited", b"D made/one", b"A new", b"M shaped"]
        self.assertEqual(self.ok("diff", ident).splitlines(), lines)
        self.assertIn(b" by set-up\n+job\n", self.ok("diff", "--patch", ident, "shaped"))
        untouched = self.submit("--setup", setup, "--", "true")
        self.ok("wait", untouched)
        self.assertEqual(self.ok("diff", untouched), b"")
        tree = [name for name in os.listdir(os.path.join(self.home, "trees")) if "." in name and len(name) == 64 + 17]
        self.assertEqual(len(tree), 1)
        os.rename(os.path.join(self.home, "trees", tree[0]), os.path.join(self.base, "away"))
        done = self.muster("diff", ident)
        self.assertIn(b"the set-up made is gone", done.stderr)
        if os.path.exists(os.path.join(self.home, "jobs", ident, "a1", "n0", "up")):
            self.assertEqual(done.stdout.splitlines(), [b"A built.txt", b"M edited", b"A made/", b"A new", b"M shaped"])

    def test_it_is_shared_only_with_those_who_have_the_same_variables(self):
        text = 'echo "$MODE $KEY" > seen'
        self.ok("secret", "set", "key", input=b"hidden")
        first = self.ok("run", "-e", "MODE=one", "-e", "KEY=secret://key", "--setup", text, "--", "cat", "seen")
        second = self.ok("run", "-e", "MODE=two", "--setup", text, "--", "cat", "seen")
        self.assertEqual((first, second), (b"one hidden\n", b"two \n"))

    def test_lists_that_include_others_count_as_a_whole(self):
        self.write(os.path.join(self.dir, "requirements.txt"), "-r more.txt\n")
        self.write(os.path.join(self.dir, "more.txt"), "# nothing\n")
        self.ok("run", "--requirements", "requirements.txt", "--", "true")
        self.write(os.path.join(self.dir, "more.txt"), "./no-such-package\n")
        self.assertEqual(self.muster("run", "--requirements", "requirements.txt", "--", "true").returncode, 125)

    def test_what_jobs_share_they_cannot_write(self):
        self.write(os.path.join(self.dir, "requirements.txt"), "# nothing\n")
        self.write(os.path.join(self.dir, "code"), "as sent\n")
        if not self.has_overlay():
            self.skipTest("no overlay here: a job has a copy, and the rest is the file system's modes")
        spoil = f"echo spoilt > $VIRTUAL_ENV/spoilt; for t in {self.home}/trees/*/; do echo spoilt > $t/code; done; true"
        flags = ("--requirements", "requirements.txt", "--setup", "true")
        self.ok("run", *flags, "--shell", spoil)
        self.assertEqual(self.ok("run", *flags, "--shell", "cat code; ls $VIRTUAL_ENV | grep spoilt; true"), b"as sent\n")

    def has_overlay(self):
        ident = self.submit("--", "true")
        self.ok("wait", ident)
        return os.path.exists(os.path.join(self.home, "jobs", ident, "a1", "n0", "up"))

    def test_bad_requests(self):
        missing = self.muster("submit", "--requirements", "absent.txt", "--", "true")
        self.assertEqual(missing.returncode, 5)
        self.assertIn(b"there is no absent.txt in ", missing.stderr)
        self.assertIn(b"relative to the top of the project", missing.stderr)
        self.assertEqual(self.muster("submit", "--here", "--setup", "true", "--", "true").returncode, 2)
        self.assertEqual(self.muster("submit", "--requirements", "../x", "--", "true").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
