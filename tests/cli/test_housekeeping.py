"""What a home takes, and its way into a backup and back: the real binary, a real store."""

import json
import os
import shutil
import sqlite3
import stat
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World  # noqa: E402


class Du(World):
    def parts(self):
        record = json.loads(self.ok("du", "-o", "json"))
        return {part["name"]: part for part in record["parts"]} | {"all": record}

    def test_each_part_is_counted_where_it_belongs(self):
        before = self.parts()
        script = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 2000000 /dev/urandom > $MUSTER_OUTPUT_DIR/out"
        ident = self.submit("--", "sh", "-c", script)
        self.wait_state(ident, "succeeded")
        after = self.parts()
        grown = {name: after[name]["bytes"] - before[name]["bytes"] for name in after}
        self.assertGreaterEqual(grown["logs"], 3000000)
        self.assertLess(grown["logs"], 4000000)
        self.assertGreaterEqual(grown["outputs"], 2000000)
        self.assertLess(grown["outputs"], 2500000)
        self.assertGreater(grown["store"], 0)
        self.assertEqual(sum(after[name]["bytes"] for name in after if name != "all"), after["all"]["bytes"])
        jobs = json.loads(self.ok("du", "--jobs", "-o", "json"))["jobs"]
        self.assertEqual([job["id"] for job in jobs], [ident])
        self.assertGreaterEqual(jobs[0]["bytes"], 5000000)

    def test_links_lead_nowhere_and_files_of_two_names_count_once(self):
        os.makedirs(os.path.join(self.home, "chunks"), 0o700)
        os.chmod(self.home, 0o700)
        large = os.path.join(self.base, "large")
        self.write(large, "x" * 5000000)
        os.symlink(self.base, os.path.join(self.home, "chunks", "link"))
        inner = os.path.join(self.home, "chunks", "a")
        self.write(inner, "y" * 1000000)
        os.link(inner, os.path.join(self.home, "chunks", "b"))
        used = self.parts()["snapshots"]["bytes"]
        self.assertGreaterEqual(used, 1000000)
        self.assertLess(used, 1500000)

    def test_an_empty_home_is_no_error(self):
        self.assertEqual(self.parts()["all"]["bytes"], 0)
        self.assertEqual(self.ok("du", "--jobs"), b"")
        self.assertEqual(self.muster("du", "--all").returncode, 2)


class Bundle(World):
    CANARIES = ("canary-of-the-home", "marks", "canary-in-the-env", "canary-in-a-url", "canary-as-bearer", "canary-pass")

    def test_all_about_a_job_and_none_of_its_secrets(self):
        self.ok("secret", "set", "home-token", input=b"canary-of-the-home \"with\"\tmarks")
        script = """echo "$A" $WANDB_API_KEY; echo "Authorization: Bearer canary-as-bearer" >&2
echo 'https://x.blob/c?sv=1&sig=canary-in-a-url&se=2'; printf '\\033[31mred\\033[0m\\n'; exit 3"""
        ident = self.submit("-e", "A=secret://home-token", "-e", "WANDB_API_KEY=canary-in-the-env", "--", "sh", "-c", script,
                            "https://me:canary-pass@host/x")
        self.wait_state(ident, "failed")
        path = self.ok("bundle", ident).decode().strip()
        self.assertEqual(os.path.basename(path), f"muster-{ident}.txt")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for canary in self.CANARIES:
            self.assertNotIn(canary, text)
        for word in (ident, "user_code", '"exit_code": 3', "exit.json", "rank-00000.out", "submitted", "Bearer [redacted]", "\\x1b[31mred"):
            self.assertIn(word, text)
        self.assertNotIn("\x1b", text)
        again = self.muster("bundle", ident)
        self.assertEqual(again.returncode, 8, again)
        self.assertNotIn("rank-00000.out", self.ok("bundle", "--no-logs", "-f", "-", ident).decode())
        self.assertEqual(self.muster("bundle", "nothing-like-it").returncode, 5)

    def test_a_server_is_not_needed(self):
        ident = self.submit("--", "true")
        self.wait_state(ident, "succeeded")
        self.ok("serve", "--stop")
        self.assertIn(ident, self.ok("bundle", "-f", "-", ident).decode())
        self.assertIsNone(self.server_pid())


class Uninstall(World):
    check_fold = False  # there is no store left
    config = "default: local\n"

    def test_all_of_muster_goes_and_nothing_else(self):
        running = self.submit("--", "sleep", "1000")
        self.wait_state(running, "running")
        stranger = os.path.join(self.home, "notes.txt")
        self.write(stranger, "mine")
        refused = self.muster("uninstall")
        self.assertEqual(refused.returncode, 8, refused)
        self.assertIn(running.encode(), refused.stderr)
        self.ok("abort", "--all")
        self.wait_all_final()
        would = json.loads(self.ok("uninstall", "--dry-run", "-o", "json"))
        self.assertIn(os.path.join(self.home, "store.db"), would["removed"])
        self.assertTrue(os.path.exists(os.path.join(self.home, "store.db")))
        answer = json.loads(self.ok("uninstall", "-o", "json"))
        self.assertEqual(answer["strange"], [stranger])
        self.assertEqual(sorted(os.listdir(self.home)), ["config.yaml", "notes.txt"])
        os.remove(stranger)
        self.ok("uninstall", "--purge")
        self.assertFalse(os.path.exists(self.home))
        self.ok("uninstall")


class Backup(World):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.base, "backup")

    def jobs_in(self, path):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return [row[0] for row in db.execute("SELECT id FROM jobs ORDER BY seq")]

    def test_there_and_back(self):
        self.ok("secret", "set", "token", input=b"s3cret-value")
        done = self.submit("--name", "done", "--", "sh", "-c", "echo hello; exit 3")
        self.wait_state(done, "failed")
        self.assertIn(b"1 job in", self.ok("backup", self.folder))
        mode = stat.S_IMODE(os.stat(self.folder).st_mode)
        self.assertEqual(mode, 0o700)
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, name)
        later = self.submit("--", "true")
        self.wait_state(later, "succeeded")
        refused = self.muster("restore", self.folder)
        self.assertEqual(refused.returncode, 8, refused)
        self.assertIn(b"serve --stop", refused.stderr)
        self.ok("serve", "--stop")
        refused = self.muster("restore", self.folder)
        self.assertEqual(refused.returncode, 8, refused)
        self.assertIn(b"--replace", refused.stderr)
        answer = json.loads(self.ok("restore", "--replace", "-o", "json", self.folder))
        self.assertEqual(answer["jobs"], 1)
        self.assertEqual([os.path.basename(path) for path in answer["kept"]], ["token"])
        self.assertEqual(self.jobs_in(os.path.join(answer["before"], "store.db")), [done, later])
        job = self.job(done)
        self.assertEqual((job["state"], job["exit_code"]), ("failed", 3))
        self.assertEqual(self.ok("logs", done), b"hello\n")
        self.assertEqual([one["id"] for one in self.jobs()], [done])
        again = self.submit("--", "true")
        self.wait_state(again, "succeeded")
        shutil.rmtree(answer["before"])

    def test_into_another_home(self):
        ident = self.submit("-e", "COLOUR=blue", "--", "sh", "-c", "echo $COLOUR")
        self.wait_state(ident, "succeeded")
        self.ok("secret", "set", "token", input=b"s3cret-value")
        self.ok("backup", "--no-secrets", self.folder)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "secrets")))
        self.home = os.path.join(self.base, "other")
        self.env["MUSTER_HOME"] = self.home
        self.ok("restore", self.folder)
        again = json.loads(self.ok("resubmit", "-o", "json", ident))["id"]
        self.wait_state(again, "succeeded")
        self.assertEqual(self.ok("logs", again), b"blue\n")

    def test_what_ended_since_is_found_again(self):
        ident = self.submit("--", "sh", "-c", "until [ -e go ]; do sleep 0.02; done; exit 4")
        self.wait_state(ident, "running")
        self.ok("backup", self.folder)
        self.write(os.path.join(self.dir, "go"), "")
        self.wait_state(ident, "failed")
        self.ok("serve", "--stop")
        self.ok("restore", "--replace", self.folder)
        job = self.wait_state(ident, "failed")
        self.assertEqual((job["exit_code"], len(job["attempts"])), (4, 1), job)

    def test_a_backup_of_a_busy_store_is_one_moment(self):
        stop = threading.Event()

        def submit():
            while not stop.is_set():
                self.submit("--", "true")

        threads = [threading.Thread(target=submit) for _ in range(2)]
        self.submit("--", "true")
        for thread in threads:
            thread.start()
        try:
            for number in range(5):
                self.ok("backup", f"{self.folder}-{number}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        for number in range(5):
            with sqlite3.connect(os.path.join(f"{self.folder}-{number}", "store.db")) as db:
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                jobs = db.execute("SELECT count(*) FROM jobs").fetchone()[0]
                submitted = db.execute("SELECT count(*) FROM events WHERE kind = 'submitted'").fetchone()[0]
            self.assertEqual(jobs, submitted, "rows and events of one moment")

    def test_what_is_no_backup_is_refused_and_changes_nothing(self):
        ident = self.submit("--", "true")
        self.wait_state(ident, "succeeded")
        self.ok("backup", self.folder)
        self.assertEqual(self.muster("backup", self.folder).returncode, 8)
        self.ok("serve", "--stop")
        self.assertEqual(self.muster("restore", self.base).returncode, 5)
        with open(os.path.join(self.folder, "store.db"), "r+b") as file:
            file.seek(5000)
            file.write(b"\xff" * 4000)
        damaged = self.muster("restore", "--replace", self.folder)
        self.assertNotEqual(damaged.returncode, 0)
        self.assertTrue(b"damaged" in damaged.stderr or b"malformed" in damaged.stderr, damaged.stderr)
        self.assertEqual(self.job(ident)["state"], "succeeded")
        os.remove(os.path.join(self.folder, "backup.json"))
        self.assertEqual(self.muster("restore", self.folder).returncode, 5)

    def test_nothing_to_copy(self):
        done = self.muster("backup", self.folder)
        self.assertEqual(done.returncode, 5, done)
        self.assertFalse(os.path.exists(self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
