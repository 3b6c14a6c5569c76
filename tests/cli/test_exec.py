"""A command beside a job that runs on this machine."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402


class Exec(World):
    code = "snapshot"

    def setUp(self):
        super().setUp()
        self.write(os.path.join(self.dir, "greeting"), "hello from the snapshot\n")

    def runs(self, *words, **more):
        ident = self.submit(*words, **more)
        self.wait_state(ident, "running")
        eventually("it has begun", lambda: self.ok("logs", ident))
        return ident

    def test_the_folder_and_the_variables_of_the_rank(self):
        ident = self.runs("-e", "WORD=a b", "--procs", "2", "--shell", "echo $RANK > mine-$RANK; echo up; sleep 1000; true")
        self.write(os.path.join(self.dir, "greeting"), "another\n")
        for rank in ("0", "1"):
            done = self.muster("exec", "--rank", rank, ident, "--", "sh", "-c", 'cat greeting mine-$RANK; echo "$WORD $WORLD_SIZE"')
            self.assertEqual((done.returncode, done.stdout), (0, f"hello from the snapshot\n{rank}\na b 2\n".encode()), done)

    def test_streams_and_exit_codes(self):
        ident = self.runs("--here", "--shell", "echo up; sleep 1000; true")
        done = self.muster("exec", ident, "--", "sh", "-c", "cat; echo told >&2; exit 7", input=b"\0\xff")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, b"\0\xff", b"told\n"))
        self.assertEqual(self.muster("exec", ident, "--", "no-such-program").returncode, 127)
        self.assertEqual(self.muster("exec", ident, "--", self.dir).returncode, 126)

    def test_it_goes_with_the_job(self):
        ident = self.runs("--shell", "echo up; sleep 1000; true")
        mark = "MUSTER_JOB_ID=" + ident
        before = set(self.processes_with(mark))
        self.ok("exec", ident, "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 &")
        self.assertTrue(set(self.processes_with(mark)) - before)
        self.ok("abort", ident)
        self.wait_state(ident, "cancelled")
        self.assertEqual(self.processes_with(mark), [])

    def test_a_job_that_does_not_run(self):
        ident = self.submit("--", "true")
        self.ok("wait", ident)
        done = self.muster("exec", ident, "--", "true")
        self.assertEqual(done.returncode, 8, done)
        self.assertIn(b"has ended (succeeded)", done.stderr)
        self.assertEqual(self.muster("exec", "nope", "--", "true").returncode, 5)
        self.assertEqual(self.muster("exec", ident).returncode, 2)

    def test_a_rank_that_is_not_there(self):
        ident = self.runs("--here", "--shell", "echo up; sleep 1000; true")
        self.assertEqual(self.muster("exec", "--rank", "1", ident, "--", "true").returncode, 5)


@unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
class ExecWithoutRoot(Exec):
    """The same where the job's mounts are in a namespace of users, and no cgroup is writable."""

    test_it_goes_with_the_job = None  # that takes a cgroup: docs/reference/surroundings.md

    def setUp(self):
        super().setUp()
        for path in (self.base, self.dir, os.path.join(self.dir, "greeting")):
            os.chown(path, 65534, 65534)

    def muster(self, *args, **more):
        return super().muster(*args, user=65534, group=65534, extra_groups=[], **more)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
