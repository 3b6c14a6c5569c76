"""A job runs the code that stood in the folder when it was submitted."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import BINARY, World, eventually  # noqa: E402

DIGEST = r"""
import hashlib, os, sys
top, skip = os.fsencode(sys.argv[1]), set(map(os.fsencode, sys.argv[2:]))
out = hashlib.sha256()
for folder, dirs, files in os.walk(top):
    dirs.sort()
    for name in sorted(dirs + files):
        path = os.path.join(folder, name)
        if os.path.relpath(path, top) in skip:
            continue
        info = os.lstat(path)
        out.update(os.path.relpath(path, top) + b"\0" + oct(info.st_mode).encode())
        if os.path.islink(path):
            out.update(os.readlink(path))
        elif os.path.isfile(path):
            out.update(open(path, "rb").read())
    dirs[:] = [d for d in dirs if not os.path.islink(os.path.join(folder, d)) and os.path.relpath(os.path.join(folder, d), top) not in skip]
print(out.hexdigest())
"""


class Snapshots(World):
    code = "snapshot"

    def put(self, path, text="x\n", mode=None):
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.write(path, text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def digest(self, top, *skip):
        return subprocess.run([sys.executable, "-c", DIGEST, top, *skip], capture_output=True, check=True).stdout.strip()

    def block(self):
        """Fills the machine, so that what is submitted next waits."""
        ident = self.submit("--here", "--cpus", str(os.cpu_count()), "--", "sleep", "1000")
        self.wait_state(ident, "running")
        return ident

    def test_later_edits_do_not_reach_a_waiting_job(self):
        self.put("code.txt", "as submitted\n")
        self.put("gone.txt", "still here\n")
        blocker = self.block()
        waiting = self.submit("--", "cat", "code.txt", "gone.txt")
        self.put("code.txt", "edited\n")
        os.unlink(os.path.join(self.dir, "gone.txt"))
        self.ok("abort", blocker)
        self.ok("wait", waiting)
        self.assertEqual(self.ok("logs", waiting), b"as submitted\nstill here\n")

    def test_the_tree_is_identical_inside(self):
        self.put("a/b/c/deep", "d")
        self.put("run.sh", "#!/bin/sh\n", 0o755)
        self.put("secret", "s", 0o400)
        os.makedirs(os.path.join(self.dir, "empty"))
        os.symlink("a/b", os.path.join(self.dir, "inside"))
        os.symlink("/nowhere/at all", os.path.join(self.dir, "outside"))
        for name in (b"new\nline", b"\xff\xfe", b"n" * 255, " spaces ü".encode()):
            with open(os.path.join(os.fsencode(self.dir), name), "wb") as file:
                file.write(name)
        with open(os.path.join(self.dir, "holes"), "wb") as file:
            file.truncate(10 << 20)
            file.seek(5 << 20)
            file.write(os.urandom(1 << 20))
        os.chmod(os.path.join(self.dir, "a", "b"), 0o555)
        inside = self.ok("run", "--", sys.executable, "-c", DIGEST, ".").strip()
        os.chmod(os.path.join(self.dir, "a", "b"), 0o755)
        outside = self.digest(self.dir)
        os.chmod(os.path.join(self.dir, "a", "b"), 0o555)
        self.assertNotEqual(inside, outside, "the digest sees modes")
        self.assertEqual(inside, self.digest(self.dir))
        os.chmod(os.path.join(self.dir, "a", "b"), 0o755)

    def test_a_job_writes_into_its_own_folder_only(self):
        self.put("shared.txt", "original\n")
        self.put("removed.txt")
        first = self.submit("--name", "first", "--shell", "echo mine >> shared.txt; rm removed.txt; echo new > made; cat shared.txt")
        self.ok("wait", first)
        self.assertEqual(self.ok("logs", first), b"original\nmine\n")
        self.assertEqual(self.ok("run", "--shell", "cat shared.txt; ls"), b"original\nremoved.txt\nshared.txt\n")
        self.assertEqual(sorted(os.listdir(self.dir)), ["removed.txt", "shared.txt"])
        with open(os.path.join(self.dir, "shared.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "original\n")

    def test_what_is_left_out_is_linked_and_listed(self):
        self.put(".gitignore", "data/\n*.log\n")
        self.put("data/set", "large\n")
        self.put("x.log")
        self.put("keep.py")
        ident = self.submit("--shell", "cat data/set; echo result > data/out; ls -a")
        self.ok("wait", ident)
        self.assertEqual(self.ok("logs", ident).split(), b"large . .. .gitignore data keep.py x.log".split())
        self.assertTrue(os.path.exists(os.path.join(self.dir, "data", "out")), "a link leads to the person's own")
        self.assertEqual(self.job(ident)["code"]["links"], ["data", "x.log"])
        self.assertIn(b"linked: data, x.log", self.ok("query", ident))

    def test_what_git_tracks_is_there_although_it_is_ignored(self):
        git = ["git", "-C", self.dir, "-c", "user.name=a", "-c", "user.email=a@b"]
        self.put(".gitignore", "*.bin\nbuild/\n/data/\n")
        for path in ("model.bin", "other.bin", "build/made", "data/set", "lib/build/kept", "lib/build/not"):
            self.put(path)
        subprocess.run(git + ["init", "-q"], check=True)
        subprocess.run(git + ["add", "-f", "model.bin", "lib/build/kept"], check=True)
        list_files = ["--", "find", ".", "-type", "f", "-o", "-type", "l"]
        done = self.muster("run", *list_files)
        self.assertEqual(sorted(done.stdout.decode().split()),
                         ["./.gitignore", "./build", "./data", "./lib/build/kept", "./model.bin", "./other.bin"])
        self.assertEqual(done.stderr, b"")
        subprocess.run(git + ["add", "-f", "data/set"], check=True)
        self.put("data/large")
        done = self.muster("run", *list_files)
        self.assertIn(b"data is ignored but for what git tracks", done.stderr)
        self.assertIn(b"./data/set\n", done.stdout)
        self.assertNotIn(b"./data/large\n", done.stdout)
        with open(os.path.join(self.dir, ".git", "index"), "r+b") as file:
            file.truncate(100)
        done = self.muster("run", *list_files)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"index cannot be read", done.stderr)
        self.assertNotIn(b"kept", done.stdout)

    def test_a_subfolder_runs_inside_the_projects_snapshot(self):
        self.put("muster.yaml", "")
        self.put("lib/x.py", "X = 7\n")
        os.makedirs(os.path.join(self.dir, "work"))
        done = self.muster("run", "--shell", "pwd; cat ../lib/x.py", cwd=os.path.join(self.dir, "work"))
        self.assertTrue(done.stdout.endswith(b"/dir/work\nX = 7\n"), done)

    def test_in_place_when_asked_and_outside_projects(self):
        self.assertEqual(self.ok("run", "--here", "pwd"), os.fsencode(self.dir) + b"\n")
        self.assertEqual(self.ok("run", "pwd", cwd=self.base), os.fsencode(self.base) + b"\n", "the home folder")
        self.assertIsNone(self.jobs()[0]["snapshot"])

    def test_the_same_tree_is_the_same_snapshot_and_an_edit_another(self):
        self.put("a.txt", "1")
        one = self.job(self.submit("--", "true"))["snapshot"]
        self.put("a.txt", "1")
        self.assertEqual(self.job(self.submit("--", "true"))["snapshot"], one)
        self.put("a.txt", "2")
        two = self.job(self.submit("--", "true"))["snapshot"]
        self.assertNotEqual(two, one)
        self.assertEqual(self.ok("run", "--snapshot", one, "--", "cat", "a.txt"), b"1")

    def test_git_is_named(self):
        git = ["git", "-C", self.dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        self.put("a.txt", "1")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run(git + words, check=True)
        commit = subprocess.run(git + ["rev-parse", "HEAD"], check=True, capture_output=True).stdout.decode().strip()
        code = self.job(self.submit("--", "true"))["code"]
        self.assertEqual((code["commit"], code["branch"], code["dirty"]), (commit, "main", 0))
        self.put("a.txt", "2")
        self.put("untracked")
        ident = self.submit("--", "true")
        self.assertEqual(self.job(ident)["code"]["dirty"], 2)
        self.assertIn(b"2 files differ", self.ok("query", ident))

    def test_a_damaged_store_is_found_before_anything_runs(self):
        self.put("a.txt", "content " * 1000)
        blocker = self.block()
        waiting = self.submit("--", "touch", os.path.join(self.base, "ran"))
        packs = os.path.join(self.home, "chunks", "v1", "packs")
        [pack] = [os.path.join(folder, name) for folder, _, names in os.walk(packs) for name in names]
        os.chmod(pack, 0o600)
        with open(pack, "r+b") as file:
            file.seek(20)
            byte = file.read(1)
            file.seek(20)
            file.write(bytes([byte[0] ^ 4]))
        self.ok("abort", blocker)
        self.assertEqual(self.muster("wait", "--timeout", "60", waiting).returncode, 125)
        job = self.job(waiting)
        self.assertEqual(job["cause"], "corrupt_input")
        self.assertIn(os.path.basename(pack), json.dumps(job["attempts"]))
        self.assertFalse(os.path.exists(os.path.join(self.base, "ran")))

    def test_a_stop_during_the_preparation_is_obeyed(self):
        for i in range(300):
            self.put(f"d{i % 10}/f{i}", f"{i}\n" * 50)
        ident = self.submit("--", "sleep", "1000")
        self.ok("abort", ident)
        self.assertEqual(self.wait_state(ident, "cancelled")["state"], "cancelled")

    def test_what_is_kept(self):
        self.put("a.txt")
        def kept(policy):
            ident = self.submit("--keep", policy, "--shell", "echo w > written; echo o > $MUSTER_OUTPUT_DIR/out")
            self.ok("wait", ident)
            job = os.path.join(self.home, "jobs", ident)
            eventually("the supervisor is gone", lambda: not os.path.exists(os.path.join(job, "a1", "n0", "wk")))
            if policy == "none":
                eventually("its outputs are gone", lambda: not os.path.exists(self.outputs(ident)))
            return [name for _, _, names in os.walk(job) for name in names if name in ("written", "out")]
        self.assertEqual(sorted(kept("all")), ["out", "written"])
        self.assertEqual(kept("outputs"), ["out"])
        self.assertEqual(kept("none"), [])

    def outputs(self, ident):
        return os.path.join(self.home, "jobs", ident, "outputs")

    def test_outputs_that_are_not_kept_go_with_the_job_not_with_an_attempt(self):
        self.put("a.txt")
        # The second attempt finds what the first one made, and says so.
        again = self.submit("--keep", "none", "--retries", "1", "--shell",
                            "cat $MUSTER_OUTPUT_DIR/out; echo first > $MUSTER_OUTPUT_DIR/out; test $MUSTER_ATTEMPT = 2")
        place = self.submit("--here", "--keep", "none", "--shell", "echo o > $MUSTER_OUTPUT_DIR/out")
        self.wait_state(again, "succeeded", seconds=120)
        self.assertEqual(self.ok("logs", "--stdout", "--attempt", "2", again), b"first\n")
        for ident in (again, place):
            eventually("its outputs are gone", lambda: not os.path.exists(self.outputs(ident)))
            self.assertTrue(os.path.exists(os.path.join(self.home, "jobs", ident, "checkpoint")))

    def test_outputs_that_are_not_kept_go_when_no_server_saw_the_end(self):
        ident = self.submit("--keep", "none", "--shell", "touch $MUSTER_OUTPUT_DIR/out; touch %s/ready; sleep 1" % self.base)
        other = self.submit("--keep", "none", "--", "true")
        self.ok("wait", other)
        eventually("they are gone", lambda: not os.path.exists(self.outputs(other)))
        eventually("it runs", lambda: os.path.exists(os.path.join(self.base, "ready")))
        self.kill_server()
        os.makedirs(self.outputs(other))  # as if it had been killed before it removed them
        self.ok("wait", ident)
        for one in (ident, other):
            eventually("its outputs are gone", lambda: not os.path.exists(self.outputs(one)))


if __name__ == "__main__":
    unittest.main()
