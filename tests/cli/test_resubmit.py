"""A job submitted again: the stored spec, the stored code, the stored environment."""

import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402


class Resubmit(World):
    code = "snapshot"

    def again(self, *args, **more):
        return self.ok("resubmit", "-o", "name", *args, **more).decode().strip()

    def test_the_code_and_the_environment_of_then(self):
        self.write(os.path.join(self.dir, "code.txt"), "then\n")
        first = self.submit("-e", "GIVEN=a b", "--name", "mine", "--tag", "k=v", "--shell", 'cat code.txt; echo "$GIVEN" "$OWN"',
                            env=dict(self.env, OWN="c"))
        self.ok("wait", first)
        self.write(os.path.join(self.dir, "code.txt"), "now\n")
        second = self.again("mine")
        self.assertNotEqual(second, first)
        self.ok("wait", second)
        self.assertEqual(self.ok("logs", second), b"then\na b c\n")
        one, two = self.job(first), self.job(second)
        for field in ("command", "shell", "dir", "name", "tags", "snapshot", "code", "env_names", "cpus_per_node", "priority"):
            self.assertEqual(one[field], two[field], field)
        self.assertEqual(one["state"], "succeeded", "a finished job stays as it is")

    def test_the_latest_code_and_other_flags(self):
        path = os.path.join(self.dir, "code.txt")
        self.write(path, "then\n")
        first = self.submit("--", "cat", "code.txt")
        self.ok("wait", first)
        self.write(path, "now\n")
        second = self.again("--latest-code", "--priority", "7", first, "--cpus", "0.5", "--procs", "2", "-e", "X=1")
        self.ok("wait", second)
        self.assertEqual(self.ok("logs", second), b"now\n")
        job = self.job(second)
        self.assertEqual((job["priority"], job["procs_per_node"], job["cpus_per_node"], job["env_names"]), (7, 2, 1, ["X"]))
        third = self.again(second, "--", "echo", "other")
        self.ok("wait", third)
        self.assertEqual(self.ok("logs", third), b"other\n")
        self.assertEqual(self.job(third)["procs_per_node"], 2)

    def test_the_old_one_goes_only_when_the_new_one_is_there(self):
        first = self.submit("--", "sleep", "1000")
        self.wait_state(first, "running")
        refused = self.muster("resubmit", "--nodes", "3", "--procs", "4", first)
        self.assertEqual(refused.returncode, 2, refused)
        self.assertEqual(self.job(first)["state"], "running")
        second = self.again(first)
        self.wait_state(first, "cancelled")
        self.wait_state(second, "running")

    def test_the_old_one_stays_when_the_new_one_could_not_run(self):
        self.ok("secret", "set", "key", input=b"hidden")
        ident = self.submit("-e", "KEY=secret://key", "--", "sleep", "1000")
        self.wait_state(ident, "running")
        self.ok("secret", "rm", "key")
        done = self.muster("resubmit", ident)
        self.assertEqual(done.returncode, 5, done)
        self.assertIn(b"key", done.stderr)
        self.ok("secret", "set", "key", input=b"again")
        shutil.rmtree(os.path.join(self.home, "chunks", "v1", "trees"))
        done = self.muster("resubmit", ident)
        self.assertEqual(done.returncode, 5, done)
        self.assertIn(b"--latest-code", done.stderr)
        self.assertEqual(self.job(ident)["state"], "running")

    def test_the_same_key_gives_the_same_job(self):
        first = self.submit("--", "true")
        self.assertEqual(self.again("--key", "k", first), self.again("--key", "k", first))

    def test_bad_requests(self):
        self.assertEqual(self.muster("resubmit").returncode, 2)
        self.assertEqual(self.muster("resubmit", "nope").returncode, 5)
        first = self.submit("--here", "--", "true")
        done = self.muster("resubmit", "--latest-code", first)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"in place", done.stderr)


if __name__ == "__main__":
    unittest.main()
