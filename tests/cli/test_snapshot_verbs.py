"""snapshot, diff and init: what people see of the code their jobs run."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402

ODD = b"e\x1b[31m\nx"  # a name that would paint a terminal red and break a line
ODD_SHOWN = b"e\\x1b[31m\\nx"


class CodeWorld(World):
    code = "snapshot"

    def put(self, path, content="x\n", mode=None):
        """A file of the project, by text or bytes."""
        path = os.path.join(os.fsencode(self.dir), os.fsencode(path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def done(self, *args):
        """The id of a job that has ended, and whose supervisor has left its folder."""
        ident = self.submit(*args)
        self.ok("wait", ident)
        work = os.path.join(self.home, "jobs", ident, "a1", "n0", "wk")
        eventually("the supervisor is gone", lambda: not os.path.exists(work))
        return ident

    def init(self):
        return self.ok("init", "-o", "name").decode().strip()

    def record(self, *args, code=0):
        done = self.muster(*args, "-o", "json")
        self.assertEqual(done.returncode, code, done)
        return json.loads(done.stdout)

    def stored(self):
        return sorted(one["id"] for one in self.record("snapshot", "list")["snapshots"])

    def refused(self, code, *args, **more):
        done = self.muster(*args, **more)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(b"fix:", done.stderr, args)
        return done.stderr

    def packs(self):
        top = os.path.join(self.home, "chunks", "v1", "packs")
        return [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]


class Looking(CodeWorld):
    def test_a_home_without_snapshots_says_so_and_stays_empty(self):
        done = self.muster("snapshot", "list")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"no snapshots yet", done.stderr)
        self.assertEqual(self.record("snapshot", "verify")["faults"], [])
        self.assertFalse(os.path.exists(os.path.join(self.home, "chunks")))

    def test_list_names_the_folder_the_commit_and_the_jobs(self):
        git = ["git", "-C", self.dir, "-c", "user.name=a", "-c", "user.email=a@b"]
        self.put("a.txt", "12345")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run(git + words, check=True)
        commit = subprocess.run(git + ["rev-parse", "HEAD"], check=True, capture_output=True).stdout.decode().strip()
        jobs = [self.submit("--", "true") for _ in range(2)]
        [one] = self.record("snapshot", "list")["snapshots"]
        self.assertEqual(one["id"], self.job(jobs[0])["snapshot"])
        self.assertEqual((one["entries"], one["bytes"], one["jobs"]), (1, 5, 2))
        self.assertEqual((one["top"], one["commit"], one["dirty"], one["newest_job"]), (self.dir, commit, 0, jobs[1]))
        line = self.ok("snapshot", "list").decode().splitlines()[1].split("\t")
        self.assertEqual(line[0::2], [one["id"], "1", "2", self.dir])
        self.assertEqual(self.ok("snapshot", "list", "-o", "name").decode().split(), [one["id"]])

    def test_show_lists_entries_and_prints_files_exactly(self):
        content = bytes(range(256)) * 9
        self.put("bin/data", content, 0o750)
        self.put(ODD, "odd")
        os.symlink("bin/data", os.path.join(self.dir, "link"))
        with open(os.path.join(self.dir, "holes"), "wb") as file:
            file.truncate(3 << 20)
            file.write(b"")
            file.seek(2 << 20)
            file.write(b"middle")
        ident = self.init()
        lines = self.ok("snapshot", "show", ident[:4]).splitlines()
        self.assertEqual(lines[0].decode(), f"snapshot {ident}")
        self.assertEqual(lines[1][:9], b"5 entries")
        self.assertEqual([line.split(None, 2) for line in lines[2:]], [
            [b"drwxr-xr-x", b"-", b"bin/"],
            [b"-rwxr-x---", b"2304", b"bin/data"],
            [b"-rw-r--r--", b"3", ODD_SHOWN],
            [b"-rw-r--r--", b"%d" % (3 << 20), b"holes"],
            [b"lrwxrwxrwx", b"-", b"link -> bin/data"]])
        self.assertEqual(self.ok("snapshot", "show", ident, "./bin/data"), content)
        with open(os.path.join(self.dir, "holes"), "rb") as file:
            self.assertEqual(self.ok("snapshot", "show", ident, "holes"), file.read())
        self.assertEqual(self.ok("snapshot", "show", ident, "bin").split()[-1], b"bin/data")
        record = self.record("snapshot", "show", ident)
        self.assertEqual((record["id"], record["entries"]), (ident, 5))
        self.assertEqual(record["tree"][1], {"path": "bin/data", "kind": "file", "mode": "0750", "size": 2304})
        self.assertEqual(record["tree"][4]["target"], "bin/data")
        self.refused(5, "snapshot", "show", ident, "nothing")
        self.refused(2, "snapshot", "show", ident, "link")

    def test_an_id_may_be_short_or_a_job_and_mistakes_are_named(self):
        self.put("a")
        job = self.submit("--name", "first", "--", "true")
        ident = self.job(job)["snapshot"]
        for word in (ident, ident[:4], ident[:20], job, "first"):
            self.assertIn(ident.encode(), self.ok("snapshot", "show", word), word)
        self.refused(5, "snapshot", "show", ident[:3])
        self.assertIn(b"no snapshot and no job", self.refused(5, "snapshot", "show", "abcdef012"))
        self.refused(5, "snapshot", "show", "0" * 64)
        self.assertIn(b'did you mean "show"?', self.refused(2, "snapshot", "shwo", ident))
        self.assertIn(b"checkout ID DIR", self.refused(2, "snapshot", "checkout", ident))
        self.assertIn(b"no --repair", self.refused(2, "snapshot", "list", "--repair"))
        self.refused(2, "snapshot")
        place = self.submit("--here", "--", "true")
        self.assertIn(b"in place", self.refused(8, "snapshot", "show", place))
        self.assertIn(b"in place", self.refused(8, "diff", place))

    def test_small_words(self):
        self.put("a")
        ident = self.ok("init", "-q").decode().strip()
        self.assertEqual(len(ident), 64)
        job = self.submit("--snapshot", ident[:6], "--retries", "user=1", "--shell", "echo x > $MUSTER_OUTPUT_DIR/o; exit 3")
        self.wait_state(job, "failed")
        self.assertIn(os.path.join(self.home, "jobs", job, "outputs"), self.ok("query", job).decode())
        self.assertEqual(self.ok("why", job).decode().count("the command ended with an error of its own"), 1)
        self.assertIn(b"nobody sets gpus", self.muster("config", "explain", "gpus").stderr)
        self.assertIn(b'did you mean "gpus"?', self.refused(5, "config", "explain", "gpuz"))

    def test_init_sends_ahead(self):
        self.put("a", "1" * 100)
        self.put("sub/b", "2" * 100)
        self.put(".musterignore", "data\n")
        self.put("data/large")
        old = time.time() - 60  # what is as young as the cache is read again
        for name in ("a", "sub/b", "sub", ".musterignore", "."):
            os.utime(os.path.join(self.dir, name), (old, old))
        first = self.record("init")
        self.assertEqual((first["top"], first["entries"], first["bytes"]), (self.dir, 4, 205))
        self.assertEqual((first["files_read"], first["new_chunks"], first["links"]), (3, 3, ["data"]))
        self.assertGreater(first["sent_bytes"], 0)
        again = self.record("init")
        self.assertEqual((again["snapshot"], again["entries"], again["new_chunks"]), (first["snapshot"], 4, 0))
        packs = self.packs()
        self.assertEqual(self.job(self.submit("--", "true"))["snapshot"], first["snapshot"])
        self.assertEqual(self.packs(), packs, "the submit had nothing to send")
        self.assertIn(b"new chunks: 0", self.ok("init"))
        self.refused(2, "init", cwd=self.base)


class Comparing(CodeWorld):
    def two(self):
        """Two snapshots with one change of each kind."""
        self.put("same", "same\n")
        self.put("edited", "one\ntwo\n")
        self.put("gone", "gone\n")
        self.put("blob", b"\0one")
        self.put("tool", "#!/bin/sh\n", 0o644)
        self.put(ODD, "odd\n")
        self.put("turned", "file\n")
        before = self.init()
        self.put("edited", "one\n2\n")
        os.unlink(os.path.join(self.dir, "gone"))
        self.put("blob", b"\0two!")
        os.chmod(os.path.join(self.dir, "tool"), 0o755)
        self.put(ODD, "odder\n")
        self.put("new/file", "new\n")
        os.unlink(os.path.join(self.dir, "turned"))
        os.symlink("same", os.path.join(self.dir, "turned"))
        return before, self.init()

    def test_diff_tells_what_and_how_much(self):
        before, after = self.two()
        done = self.muster("snapshot", "diff", before, after)
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        self.assertEqual(done.stdout.splitlines(), [
            b"M blob  (5 B, was 4 B)",
            b"M " + ODD_SHOWN + b"  (6 B, was 4 B)",
            b"M edited  (6 B, was 8 B)",
            b"D gone  (5 B)",
            b"A new/",
            b"A new/file  (4 B)",
            b"M tool  (mode 0755, was 0644)",
            b"M turned  (link, was a file)"])
        self.assertEqual(self.muster("snapshot", "diff", after, after).returncode, 0)
        record = self.record("snapshot", "diff", before, after, code=1)
        self.assertEqual((record["before"], record["after"]), (before, after))
        changes = {one["path"]: one for one in record["changes"]}
        self.assertEqual(changes["gone"]["change"], "removed")
        self.assertIsNone(changes["gone"]["after"])
        self.assertEqual(changes["tool"]["after"], {"kind": "file", "mode": "0755", "size": 10})
        self.assertIn(ODD.decode(), changes)

    def test_a_patch_makes_one_of_the_other(self):
        before, after = self.two()
        done = self.muster("snapshot", "diff", "--patch", before, after)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"--- a/edited\n+++ b/edited\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", done.stdout)
        self.assertIn(b"Binary files a/blob and b/blob differ\n", done.stdout)
        self.assertNotIn(b"\x1b", done.stdout)
        # git takes all of it but what it cannot know: the bytes of the binary file.
        text = b"".join(b"diff --git " + part for part in done.stdout.split(b"diff --git ")[1:] if not part.startswith(b"a/blob"))
        place = os.path.join(self.base, "place")
        self.ok("snapshot", "checkout", before, place)
        subprocess.run(["git", "apply", "-"], input=text, cwd=place, check=True)
        shutil.copy(os.path.join(self.dir, "blob"), place)
        back = self.ok("init", "-o", "name", cwd=place).decode().strip()
        self.assertEqual(self.muster("snapshot", "diff", after, back).stdout, b"")
        self.assertEqual(back, after)

    def test_checkout_gives_the_tree_back_and_harms_nothing(self):
        before, after = self.two()
        place = os.path.join(self.base, "deep", "place")
        self.ok("snapshot", "checkout", before, place)
        self.assertEqual(self.ok("init", "-o", "name", cwd=place).decode().strip(), before)
        self.assertIn(b"not empty", self.refused(8, "snapshot", "checkout", after, place))
        with open(os.path.join(place, "edited"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "one\ntwo\n")
        os.mkdir(os.path.join(self.base, "empty"))
        self.ok("snapshot", "checkout", after, os.path.join(self.base, "empty"))
        self.refused(8, "snapshot", "checkout", after, os.path.join(place, "edited"))

    def test_a_checkout_that_was_killed_is_done_again(self):
        before, _ = self.two()
        place = os.path.join(self.base, "place")
        os.mkdir(place)
        # As a kill leaves it: marked, and half full.
        for name in (".muster-checkout-under-way", "edited", "half"):
            self.write(os.path.join(place, name), "half")
        self.ok("snapshot", "checkout", before, place)
        self.assertEqual(self.ok("init", "-o", "name", cwd=place).decode().strip(), before)

    def test_a_checkout_that_fails_leaves_no_half(self):
        self.put("a", os.urandom(1000))
        self.put("b", os.urandom(1 << 20))
        ident = self.init()
        [pack] = self.packs()
        os.chmod(pack, 0o600)
        flip(pack, os.path.getsize(pack) // 2)
        place = os.path.join(self.base, "place")
        self.refused(9, "snapshot", "checkout", ident, place)
        self.assertFalse(os.path.exists(place))
        os.mkdir(place)
        self.refused(9, "snapshot", "checkout", ident, place)
        self.assertEqual(os.listdir(place), [])


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 16]))


class Changes(CodeWorld):
    SCRIPT = r"""
echo more >> edited; rm gone; rm -rf folder; mkdir folder; echo n > folder/new; chmod 755 tool
printf '\0two!' > blob; touch same; echo odder >> "$(printf 'e\033[31m\nx')"; rm turned; ln -s same turned
rm -rf tree; echo f > tree; rm -rf whole; mkdir -p made/below; echo m > made/below/file; chmod 700 inner
printf q > "$(printf 'new\nline')"; ln -sfn edited link; mkfifo pipe; cp same copied; mv copied same
echo into >> data/set
"""
    LINES = [b"M blob", b"M " + ODD_SHOWN, b"M edited", b"D folder/deep/", b"D folder/deep/one", b"A folder/new",
             b"D folder/old", b"D gone", b"M inner/", b"M link", b"A made/", b"A made/below/", b"A made/below/file",
             b"A new\\nline", b"A pipe", b"M tool", b"M tree", b"D tree/leaf", b"M turned",
             b"D whole/", b"D whole/a", b"D whole/b/", b"D whole/b/c"]

    def setUp(self):
        super().setUp()
        for path in ("same", "gone", "folder/old", "folder/deep/one", "inner/kept", "turned", "tree/leaf", "whole/a", "whole/b/c"):
            self.put(path)
        self.put("edited", "one\n")
        self.put("blob", b"\0one")
        self.put("tool", "#!/bin/sh\n", 0o644)
        self.put(ODD, "odd\n")
        self.put(".musterignore", "data\n*.log\n")
        self.put("data/set")
        self.put("x.log")
        os.symlink("same", os.path.join(self.dir, "link"))

    def node(self, ident):
        return os.path.join(self.home, "jobs", ident, "a1", "n0")

    def test_every_kind_of_change(self):
        ident = self.done("--shell", self.SCRIPT)
        self.assertEqual(self.job(ident)["state"], "succeeded", self.ok("logs", ident))
        self.assertEqual(self.ok("diff", ident).splitlines(), self.LINES)

    def test_the_same_in_a_copy_as_in_an_overlay(self):
        ident = self.done("--", "true")
        # As where overlays may not be mounted: the whole folder, and no `up`.
        shutil.rmtree(os.path.join(self.node(ident), "up"), ignore_errors=True)
        shutil.rmtree(os.path.join(self.node(ident), "dir"), ignore_errors=True)
        copy = os.path.join(self.node(ident), "dir", os.path.basename(self.dir))
        self.ok("snapshot", "checkout", ident, copy)
        for name in ("data", "x.log"):
            os.symlink(os.path.join(self.dir, name), os.path.join(copy, name))
        self.assertEqual(self.ok("diff", ident), b"")
        subprocess.run(["sh", "-c", self.SCRIPT], cwd=copy, check=True)
        self.assertEqual(self.ok("diff", ident).splitlines(), self.LINES)

    def test_a_job_that_changed_nothing_has_no_lines(self):
        ident = self.done("--shell", "cat same; touch same folder; chmod 644 tool; cp same t; mv t same")
        self.assertEqual(self.ok("diff", ident), b"")
        self.assertEqual(self.record("diff", ident)["changes"], [])

    def test_paths_choose_and_records_tell_all(self):
        ident = self.done("--shell", self.SCRIPT)
        self.assertEqual(self.ok("diff", ident, "made/", "./gone").splitlines(),
                         [b"D gone", b"A made/", b"A made/below/", b"A made/below/file"])
        record = self.record("diff", ident)
        self.assertEqual((record["job"], record["attempt"], record["node"]), (ident, 1, 0))
        kinds = {one["path"]: (one["before"] or {}).get("kind", "-") + (one["after"] or {}).get("kind", "-") for one in record["changes"]}
        self.assertEqual(kinds["tree"], "folderfile")
        self.assertEqual(kinds["pipe"], "-special")
        self.assertEqual(kinds["turned"], "filelink")

    def test_a_path_that_nobody_knows_is_told_and_what_cannot_be_read_is_a_change(self):
        ident = self.done("--shell", "echo new > made-it; chmod 000 edited same")
        self.assertEqual(self.ok("diff", ident, "edited"), b"M edited\n")
        done = self.muster("diff", ident, "tool", "nosuch", "made-it")
        self.assertEqual((done.returncode, done.stdout), (0, b"A made-it\n"))
        self.assertIn(b"no nosuch", done.stderr)
        self.assertNotIn(b"no tool", done.stderr)

    def test_a_patch_takes_a_jobs_edits_over(self):
        ident = self.done("--shell", "echo more >> edited; rm gone; mkdir made; echo m > made/file; chmod 755 tool; rm turned; ln -s same turned")
        patch = self.ok("diff", "--patch", ident)
        self.assertIn(b"--- a/edited\n+++ b/edited\n@@ -1 +1,2 @@\n one\n+more\n", patch)
        subprocess.run(["git", "apply", "-"], input=patch, cwd=self.dir, check=True)
        self.assertEqual(self.muster("diff", ident).returncode, 0)
        self.assertEqual(os.readlink(os.path.join(self.dir, "turned")), "same")
        self.assertTrue(os.access(os.path.join(self.dir, "tool"), os.X_OK))
        self.assertFalse(os.path.exists(os.path.join(self.dir, "gone")))
        self.assertEqual([line[0:2] for line in self.muster("snapshot", "diff", ident, self.init()).stdout.splitlines()],
                         [b"M ", b"D ", b"A ", b"A ", b"M ", b"M "])

    def test_a_running_job_can_be_looked_at(self):
        ident = self.submit("--shell", "echo w > written; mkfifo wait; cat wait")
        eventually("it has written", lambda: b"A wait" in self.muster("diff", ident).stdout)
        self.assertEqual(self.ok("diff", ident).splitlines(), [b"A wait", b"A written"])

    def test_attempts_and_ranks_have_folders_of_their_own(self):
        ident = self.submit("--retries", "1", "--shell", "echo $MUSTER_ATTEMPT > by$MUSTER_ATTEMPT; exit 3")
        # The second attempt comes after its back-off.
        self.wait_state(ident, "failed", seconds=120)
        self.assertEqual(self.ok("diff", "--attempt", "1", ident), b"A by1\n")
        self.assertEqual(self.ok("diff", ident), b"A by2\n")
        for words in (("--attempt", "3"), ("--rank", "1"), ("--rank", "x")):
            self.refused(2, "diff", *words, ident)

    def test_what_was_not_kept_is_said(self):
        for policy in ("outputs", "none"):
            ident = self.done("--keep", policy, "--shell", "echo w > written")
            self.assertIn(f"keep is {policy}".encode(), self.refused(5, "diff", ident))
        blocker = self.submit("--here", "--cpus", str(os.cpu_count()), "--", "sleep", "1000")
        self.wait_state(blocker, "running")
        waiting = self.submit("--", "true")
        self.assertIn(b"has not started yet", self.refused(5, "diff", waiting))
        self.refused(2, "diff")
        self.refused(5, "diff", "no-such-job")


class Nodes(CodeWorld):
    config = "clusters:\n  local:\n    nodes:\n      - {name: desk, count: 2, cpus: 1, memory: 256M}\n"

    def test_a_rank_finds_its_node(self):
        self.put("a")
        ident = self.submit("--nodes", "2", "--shell", "echo w > by$RANK")
        self.ok("wait", ident)
        self.assertEqual(self.ok("diff", ident), b"A by0\n")
        self.assertEqual(self.ok("diff", "--rank", "1", ident), b"A by1\n")
        self.refused(2, "diff", "--rank", "2", ident)


class Keeping(CodeWorld):
    def age(self, path, hours):
        old = time.time() - 3600 * hours
        os.utime(path, (old, old))

    def test_prune_keeps_what_jobs_need_and_frees_the_rest(self):
        self.put("a", os.urandom(5000))
        used = self.job(self.submit("--", "true"))["snapshot"]
        self.put("a", os.urandom(5000))
        unused = self.init()
        self.put("a", os.urandom(5000))
        newest = self.init()
        size = sum(map(os.path.getsize, self.packs()))
        told = self.record("snapshot", "prune", "--dry-run")
        self.assertEqual((told["snapshots"], told["bytes"] > 4000), (1, True))
        self.assertEqual(self.stored(), sorted([used, unused, newest]))
        pruned = self.record("snapshot", "prune")
        self.assertEqual((pruned["snapshots"], self.stored()), (1, sorted([used, newest])))
        self.assertGreater(pruned["bytes"], 4000)
        self.assertLess(sum(map(os.path.getsize, self.packs())), size - 4000)
        self.assertEqual(self.record("snapshot", "verify")["faults"], [])
        self.refused(5, "snapshot", "show", unused)
        for ident in (used, newest):
            self.ok("run", "--snapshot", ident, "--", "test", "-s", "a")
        self.assertEqual(self.record("snapshot", "prune")["snapshots"], 0)

    def test_a_waiting_job_finds_its_code_after_a_prune(self):
        self.put("a", "as submitted\n")
        blocker = self.submit("--here", "--cpus", str(os.cpu_count()), "--", "sleep", "1000")
        self.wait_state(blocker, "running")
        waiting = self.submit("--", "cat", "a")
        self.put("a", "edited\n")
        self.init()
        self.ok("snapshot", "prune")
        self.ok("abort", blocker)
        self.ok("wait", waiting)
        self.assertEqual(self.ok("logs", waiting), b"as submitted\n")

    def test_restored_trees_go_when_no_job_uses_them_and_come_again(self):
        self.put("a", "first\n")
        ended = self.job(self.done("--", "true"))["snapshot"]
        self.put("a", "second\n")
        running = self.submit("--shell", "mkfifo wait; cat wait; cat a")
        fifo = os.path.join(self.home, "jobs", running, "a1", "n0", "up", "wait")
        eventually("it waits", lambda: os.path.exists(fifo) or b"A wait" in self.muster("diff", running).stdout)
        in_use = self.job(running)["snapshot"]
        trees = os.path.join(self.home, "trees")
        restored = lambda: sorted(name for name in os.listdir(trees) if len(name) == 64)
        self.assertEqual(self.record("snapshot", "prune")["trees"], 0, "both are young")
        for ident in (ended, in_use):
            self.age(os.path.join(trees, ident), 2)
        self.assertEqual(self.record("snapshot", "prune")["trees"], 0, "both were used lately")
        for ident in (ended, in_use):
            self.age(os.path.join(trees, ident + ".boot"), 2)
        told = self.record("snapshot", "prune", "--dry-run")
        self.assertEqual((told["trees"], told["tree_bytes"] > 0, restored()), (1, True, sorted([ended, in_use])))
        self.assertEqual(self.record("snapshot", "prune")["trees"], 1)
        self.assertEqual(restored(), [in_use])
        self.ok("abort", running)
        self.wait_state(running, "cancelled")
        self.assertEqual(self.ok("run", "--snapshot", ended, "--", "cat", "a"), b"first\n")
        self.assertEqual(restored(), sorted([ended, in_use]))

    def test_what_killed_processes_left_goes(self):
        self.put("a", "1\n")
        ident = self.job(self.done("--", "true"))["snapshot"]
        trees = os.path.join(self.home, "trees")
        left = [f"tmp.{ident}.new", f"{ident}.0123456789abcdef.new", "0" * 64 + ".lock"]
        for name in left[:2]:
            os.makedirs(os.path.join(trees, name, "sub"))
        self.write(os.path.join(trees, left[2]), "")
        self.write(os.path.join(trees, "a stranger.new"), "")
        self.ok("snapshot", "prune")
        self.assertTrue(set(left) <= set(os.listdir(trees)), "they are young")
        for name in left + ["a stranger.new", ident, ident + ".boot", ident + ".lock"]:
            self.age(os.path.join(trees, name), 2)
        self.ok("snapshot", "prune", "--dry-run")
        self.assertTrue(set(left) <= set(os.listdir(trees)))
        self.ok("snapshot", "prune")
        self.assertFalse([name for name in os.listdir(trees) if name.startswith(("tmp.", "0" * 64)) or name.endswith("f.new")])
        self.assertIn("a stranger.new", os.listdir(trees))
        self.assertNotIn(ident + ".lock", os.listdir(trees))
        self.assertEqual(self.ok("run", "--snapshot", ident[:8], "--", "cat", "a"), b"1\n")

    def test_a_dry_run_tells_what_a_prune_frees(self):
        for part in range(3):
            for name in range(4):
                self.put(f"f{name}", os.urandom(40000 if name < part + 1 else 100))
            self.init()
        told, freed = self.record("snapshot", "prune", "--dry-run"), self.record("snapshot", "prune")
        self.assertEqual(told["snapshots"], freed["snapshots"])
        self.assertAlmostEqual(told["bytes"] / freed["bytes"], 1, delta=0.1)
        self.assertEqual(self.record("snapshot", "prune", "--dry-run")["bytes"], 0)

    def small_disk(self):
        os.makedirs(self.home, 0o700, exist_ok=True)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", self.home], check=False).returncode != 0:
            self.skipTest("a small disk needs the right to mount one")
        self.addCleanup(subprocess.run, ["umount", "-l", self.home], check=False)
        os.chmod(self.home, 0o700)

    def fill_disk(self):
        """But for a MiB: less than a twentieth, and less than the program needs."""
        room = os.statvfs(self.home)
        with open(os.path.join(self.home, "filler"), "wb") as file:
            file.write(b"x" * (room.f_bavail * room.f_bsize - (1 << 20)))

    def test_a_full_disk_does_not_keep_the_verbs_away_that_free_some(self):
        self.small_disk()
        self.put("a", os.urandom(5000))
        self.done("--", "true")
        self.ok("serve", "--stop")
        shutil.rmtree(os.path.join(self.home, "bin"))
        self.fill_disk()
        self.ok("query")
        self.ok("snapshot", "prune")
        self.ok("serve", "--stop")
        os.unlink(os.path.join(self.home, "filler"))
        self.done("--", "true")

    def collect(self):
        """Makes the server collect by itself, as it does after a day."""
        record = os.path.join(self.home, "collected.json")
        eventually("the server has looked", lambda: os.path.exists(record))
        self.age(record, 25)
        eventually("it has collected", lambda: os.path.getmtime(record) > time.time() - 3600, 120)
        with open(record, encoding="utf-8") as file:
            return json.load(file)

    def check(self, name):
        return [one for one in self.record("doctor")["checks"] if one["name"] == name][0]["text"]

    def test_the_server_collects_and_a_job_sees_what_was_submitted(self):
        self.put("a", "as submitted\n")
        self.put("deep/b", "b\n")
        fifo = os.path.join(self.base, "fifo")
        os.mkfifo(fifo)
        running = self.submit("--shell", f"touch waits; cat {fifo}; cat a deep/b")
        eventually("it waits", lambda: b"A waits" in self.muster("diff", running).stdout)
        self.assertIn("none yet", self.check("collection"))
        waiting = self.submit("--cpus", str(os.cpu_count()), "--", "cat", "a", "deep/b")
        for content in ("edited\n", "again\n"):
            self.put("a", content)
            dropped = self.init()
        shutil.rmtree(os.path.join(self.dir, "deep"))
        self.put("a", "last\n")
        newest = self.init()
        trees = os.path.join(self.home, "trees")
        for name in os.listdir(trees):
            self.age(os.path.join(trees, name), 24 * 60)
        collected = self.collect()
        self.assertEqual((collected["by"], collected["snapshots"], collected["trees"]), ("server", 2, 0))
        self.assertGreater(collected["bytes"], 0)
        self.assertIn("by itself): snapshots 2", self.check("collection"))
        self.assertEqual(self.stored(), sorted([newest, self.job(running)["snapshot"]]))
        self.refused(5, "snapshot", "show", dropped)
        with open(fifo, "wb"):
            pass
        self.ok("wait", running)
        self.ok("wait", waiting)
        for ident in (running, waiting):
            self.assertEqual(self.ok("logs", ident).split(), [b"as", b"submitted", b"b"])
        again = self.submit("--snapshot", self.job(running)["snapshot"], "--", "true")
        self.ok("wait", again)
        self.assertEqual(self.ok("resubmit", "-o", "name", running).decode().strip()[:4], running[:4])

    def test_on_a_low_disk_the_server_does_not_wait_a_day(self):
        self.small_disk()
        self.put("a", "1\n")
        self.done("--", "true")
        trees, record = os.path.join(self.home, "trees"), os.path.join(self.home, "collected.json")
        restored = lambda: [name for name in os.listdir(trees) if len(name) == 64]
        eventually("the server has looked", lambda: os.path.exists(record))
        for name in os.listdir(trees):
            self.age(os.path.join(trees, name), 2)
        self.age(record, 2)
        self.assertEqual(len(restored()), 1)
        self.fill_disk()
        eventually("it has collected", lambda: not restored(), 120)

    def test_python_environments_go_when_no_job_uses_them(self):
        self.put("requirements.txt", "# one\n")
        ended = self.done("--requirements", "requirements.txt", "--", "true")
        self.put("requirements.txt", "# two\n")
        running = self.submit("--requirements", "requirements.txt", "--shell", "mkfifo wait; cat wait")
        eventually("it waits", lambda: b"A wait" in self.muster("diff", running).stdout, 300)
        of = lambda ident: os.readlink(os.path.join(self.home, "jobs", ident, "a1", "n0", "venv"))
        for venv in (of(ended), of(running)):
            self.age(venv, 48)
        self.assertEqual(self.record("snapshot", "prune")["venvs"], 0, "both were used lately")
        for venv in (of(ended), of(running)):
            self.age(os.path.join(venv, ".muster-ready"), 48)
            self.age(venv, 48)
        told = self.record("snapshot", "prune", "--dry-run")
        self.assertEqual((told["venvs"], os.path.exists(of(ended))), (1, True))
        done = self.record("snapshot", "prune")
        self.assertEqual((done["venvs"], done["venv_bytes"]), (1, told["venv_bytes"]))
        self.assertEqual((os.path.exists(of(ended)), os.path.exists(of(running))), (False, True))
        self.assertIn("by hand", self.check("collection"))

    def test_verify_names_a_flipped_byte_and_a_repair_and_a_submit_heal_it(self):
        self.put("sound", os.urandom(3000))
        first = self.job(self.done("--", "true"))["snapshot"]
        [sound] = self.packs()
        self.put(ODD, os.urandom(3000))
        second = self.job(self.done("--", "true"))["snapshot"]
        [pack] = set(self.packs()) - {sound}
        self.assertEqual(self.record("snapshot", "verify")["faults"], [])
        self.assertIn(b"snapshots 2; faults 0", self.ok("snapshot", "verify"))
        os.chmod(pack, 0o600)
        flip(pack, 100)
        done = self.muster("snapshot", "verify")
        self.assertEqual(done.returncode, 9, done)
        self.assertIn(os.path.basename(pack).encode(), done.stdout)
        self.assertIn(second.encode(), done.stdout)
        self.assertNotIn(first.encode(), done.stdout)
        self.assertNotIn(b"\x1b", done.stdout)
        faults = self.record("snapshot", "verify", code=9)["faults"]
        self.assertIn(("pack", "v1/packs/%s/%s" % (os.path.basename(pack)[:2], os.path.basename(pack))),
                      [(fault["kind"], fault["name"]) for fault in faults])
        self.assertTrue(os.path.exists(pack), "looking removes nothing")
        repaired = self.record("snapshot", "verify", "--repair", code=9)
        self.assertTrue(repaired["repaired"])
        self.assertFalse(os.path.exists(pack))
        self.assertEqual(self.stored(), [first])
        self.assertEqual(self.record("snapshot", "verify")["faults"], [])
        shutil.rmtree(os.path.join(self.home, "trees"))
        healed = self.done("--", "sha256sum", "sound", ODD)
        self.assertEqual(self.job(healed)["snapshot"], second)
        here = subprocess.run(["sha256sum", "sound", ODD], cwd=self.dir, check=True, capture_output=True).stdout
        self.assertEqual(self.ok("logs", healed), here)
        self.assertEqual(self.record("snapshot", "verify")["faults"], [])
        self.assertEqual(self.stored(), sorted([first, second]))


if __name__ == "__main__":
    unittest.main()
