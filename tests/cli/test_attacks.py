"""What a hostile or careless hand did once, and must not do again."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import BINARY, World, eventually  # noqa: E402

STOP = "POST /v1/server:stop HTTP/1.1\\r\\nHost: m\\r\\nContent-Length: 0\\r\\n\\r\\n"


class ClosedStreams(World):
    def test_output_never_lands_in_the_servers_socket(self):
        self.ok("query")
        pid = self.server_pid()
        for closed in (">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            done = subprocess.run(["sh", "-c", f"{BINARY} run printf '{STOP}' {closed}"], env=self.env, cwd=self.dir, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, (closed, done))
        self.assertEqual(self.server_pid(), pid, "nobody asked it to stop")
        self.assertEqual({job["state"] for job in self.jobs()}, {"succeeded"})

    def test_a_closed_pipe_reaches_the_job(self):
        done = subprocess.run(["bash", "-c", f"{BINARY} run yes | head -1; exit ${{PIPESTATUS[0]}}"], env=self.env, cwd=self.dir, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (141, b"y\n"))
        self.wait_all_final(30)


class Homes(World):
    check_fold = False

    def test_a_folder_with_other_things_is_not_taken_over(self):
        for mode, inside in ((0o1777, "other"), (0o755, "other"), (0o777, "config.yaml")):
            home = os.path.join(self.base, f"h{mode:o}")
            os.mkdir(home)
            self.write(os.path.join(home, inside), "")
            os.chmod(home, mode)
            done = self.muster("query", env=dict(self.env, MUSTER_HOME=home))
            self.assertIn(done.returncode, (4, 8), done)
            self.assertIn(b"MUSTER_HOME", done.stderr)
            self.assertEqual(os.stat(home).st_mode & 0o7777, mode)
            self.assertEqual(os.listdir(home), [inside])

    def test_a_refused_start_is_told_at_once(self):
        self.ok("query")
        self.ok("serve", "--stop")
        store = sqlite3.connect(os.path.join(self.home, "store.db"))
        store.execute("pragma user_version=999")
        store.commit()
        store.close()
        done = self.muster("query", timeout=25)
        self.assertEqual(done.returncode, 8, done)
        self.assertIn(b"newer", done.stderr)

    def test_something_else_in_the_sockets_place(self):
        os.mkdir(self.home, 0o700)
        self.write(os.path.join(self.home, "socket"), "x")
        done = self.muster("query", timeout=25)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"socket", done.stderr)

    def test_the_current_folder_is_gone(self):
        gone = os.path.join(self.dir, "gone")
        os.mkdir(gone)
        done = subprocess.run(["sh", "-c", f"cd {gone}; rmdir {gone}; {BINARY} run pwd"], env=self.env, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 5, done)
        self.assertIn(b"does not exist any more", done.stderr)


class ForgedRecords(World):
    def forged(self, text):
        """Runs a job without a server, replaces its record, and lets a new server read it."""
        ident = self.submit("--retries", "infra=0", "--", "sh", "-c", "while ! [ -e go ]; do sleep 0.02; done; exit 5")
        self.wait_state(ident, "running")
        self.kill_server()
        self.write(os.path.join(self.dir, "go"), "")
        path = os.path.join(self.home, "jobs", ident, "a1", "n0", "exit.json")
        eventually("a record", lambda: os.path.exists(path))
        with open(os.path.join(os.path.dirname(path), "shim.json"), encoding="utf-8") as file:
            shim = json.load(file)["pid"]
        # While it is there the supervisor itself tells how it ended, whatever the file says.
        eventually("its supervisor has gone", lambda: not os.path.exists(f"/proc/{shim}"))
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        text(path, record)
        os.unlink(os.path.join(self.dir, "go"))
        return self.wait_state(ident, "failed", "succeeded")

    def test_a_record_that_cannot_be_true_is_no_record(self):
        def edit(change):
            def write(path, record):
                change(record)
                os.unlink(path)
                self.write(path, json.dumps(record))
            return write

        def special(make):
            def replace(path, record):
                os.unlink(path)
                make(path)
            return replace

        cases = [edit(lambda r: r.update(ranks=[])), edit(lambda r: r.update(attempt=9)), edit(lambda r: r["ranks"][0].update(exit=-5)),
                 special(os.mkfifo), special(os.mkdir), special(lambda path: os.symlink("/dev/zero", path))]
        for case in cases:
            self.assertEqual(self.forged(case)["cause"], "lost")


class Answers(World):
    check_fold = False

    def fake_server(self, body):
        os.makedirs(self.home, 0o700, exist_ok=True)
        path = os.path.join(self.home, "socket")
        if os.path.exists(path):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()

        def answer(peer):
            with peer:
                if peer.recv(65536):
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        def serve():
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(peer,), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        return listener

    def tearDown(self):
        os.unlink(os.path.join(self.home, "socket"))
        super().tearDown()

    def test_a_wrong_answer_is_not_success(self):
        for body in (b'{"schema":1,"jobs":{}}', b'{"id":', b"[]", b"[" * 500):
            listener = self.fake_server(body)
            done = self.muster("submit", "true", timeout=30)
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.assertEqual(done.returncode, 9, (body, done))


class Followers(World):
    def test_following_survives_the_server(self):
        ident = self.submit("--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.2; done")
        follower = subprocess.Popen([BINARY, "logs", "-f", ident], env=self.env, cwd=self.dir, stdout=subprocess.PIPE)
        self.assertEqual(follower.stdout.readline(), b"1\n")
        self.kill_server()
        self.assertEqual(follower.stdout.read(), b"".join(b"%d\n" % i for i in range(2, 11)))
        self.assertEqual(follower.wait(30), 0)
        follower.stdout.close()

    def test_a_server_nobody_can_reach_goes(self):
        self.ok("query")
        pid = self.server_pid()
        os.unlink(os.path.join(self.home, "socket"))
        eventually("it is gone", lambda: not os.path.exists(f"/proc/{pid}"), 60)
        self.ok("query")


class Interrupts(World):
    def test_term_ends_a_run_that_waits(self):
        blocker = self.submit("--cpus", str(os.cpu_count()), "--", "sleep", "1000")
        self.wait_state(blocker, "running")
        runner = subprocess.Popen([BINARY, "run", "--name", "late", "--", "true"], env=self.env, cwd=self.dir, stderr=subprocess.PIPE)
        eventually("it waits", lambda: any(job["name"] == "late" for job in self.jobs()))
        runner.send_signal(signal.SIGTERM)
        self.assertEqual(runner.wait(30), 125)
        self.assertEqual(self.job("late")["state"], "cancelled")
        runner.stderr.close()

    def test_run_refuses_what_can_never_start(self):
        done = self.muster("run", "--cpus", "4096", "true", timeout=30)
        self.assertEqual(done.returncode, 7, done)
        self.assertIn(b"can never start", done.stderr)
        self.assertEqual(self.jobs()[0]["state"], "cancelled")


if __name__ == "__main__":
    unittest.main(verbosity=2)
