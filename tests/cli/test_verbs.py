"""What a person types, and what they get: the real binary in an empty home."""

import contextlib
import datetime
import hashlib
import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import BINARY, World, eventually  # noqa: E402


class Run(World):
    def test_output_and_exit_code_pass_through(self):
        done = self.muster("run", "--", "sh", "-c", "printf 'a\\0b'; printf oops >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"a\0b", b"oops"))

    def test_a_signal_is_128_plus_its_number(self):
        self.assertEqual(self.muster("run", "--", "sh", "-c", "kill -SEGV $$").returncode, 128 + 11)

    def test_a_cancel_is_125(self):
        runner = subprocess.Popen([BINARY, "run", "--name", "long", "--", "sleep", "100"], env=self.env, cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually("it runs", lambda: self.muster("query", "long").returncode == 0 and self.job("long")["state"] == "running")
        self.ok("abort", "long")
        self.assertEqual(runner.wait(60), 125)

    def test_a_missing_program_is_127_and_says_so(self):
        done = self.muster("run", "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"no-such-program", done.stderr)
        self.assertEqual(self.jobs()[0]["cause"], "exec_failed")

    def test_a_file_without_permission_is_126(self):
        path = os.path.join(self.dir, "plain")
        self.write(path, "#!/bin/sh\n")
        os.chmod(path, 0o644)
        self.assertEqual(self.muster("run", "--", "./plain").returncode, 126)

    def test_several_ranks_carry_their_rank(self):
        done = self.muster("run", "--procs", "2", "--cpus", "0.5", "--", "sh", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK $NODE_RANK")
        self.assertEqual(sorted(done.stdout.splitlines()), [b"[0] 0/2 0 0", b"[1] 1/2 1 0"])

    def test_a_large_output_arrives_whole(self):
        done = self.muster("run", "--", "sh", "-c", "head -c 30000000 /dev/urandom | tee copy")
        with open(os.path.join(self.dir, "copy"), "rb") as file:
            self.assertEqual(hashlib.sha256(done.stdout).hexdigest(), hashlib.sha256(file.read()).hexdigest())

    def test_a_job_may_submit_jobs(self):
        done = self.muster("run", "--name", "outer", "--cpus", "0.5", "--", BINARY, "run", "--name", "inner", "--cpus", "0.5", "--", "sh", "-c", "echo $RANK")
        self.assertEqual(done.stdout, b"0\n", done.stderr)
        self.assertEqual(self.job("inner")["parent"], self.job("outer")["id"])

    def test_the_submitters_surroundings_arrive(self):
        os.makedirs(os.path.join(self.dir, "in ü"))
        env = dict(self.env, MINE="a\nb", UNTOUCHED="1")
        done = self.muster("run", "-e", "GIVEN=x y", "--", "sh", "-c", "umask; pwd; printf '%s|' \"$MINE\" \"$GIVEN\" \"$UNTOUCHED\" $(get_cores)",
                           env=env, cwd=os.path.join(self.dir, "in ü"), umask=0o027)
        self.assertEqual(done.stdout.decode(), f"0027\n{self.dir}/in ü\na\nb|x y|1|1|", done.stderr)

    def test_presteps_are_evaluated_first(self):
        done = self.muster("run", "-e", "AMLARC_PRESTEP=export THREADS=`get_cores`", "--", "sh", "-c", "echo $THREADS")
        self.assertEqual(done.stdout, b"1\n")
        self.assertEqual(self.muster("run", "-e", "MUSTER_PRESTEP=exit 9", "--", "true").returncode, 9)

    def test_interrupt_goes_to_the_job(self):
        runner = subprocess.Popen([BINARY, "run", "--", "sh", "-c", "trap 'echo got; exit 42' INT; echo ready; while :; do sleep 0.05; done"],
                                  env=self.env, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.assertEqual(runner.stdout.readline(), b"ready\n")
        runner.send_signal(2)
        self.assertEqual(runner.stdout.read(), b"got\n")
        self.assertEqual(runner.wait(30), 42)


class Submit(World):
    def test_the_id_alone_comes_first(self):
        ident = self.submit("true")
        self.assertRegex(ident, r"^[a-z0-9-]+_\d+_[0-9a-f]{8}$")
        self.assertEqual(self.muster("wait", ident).returncode, 0)
        done = self.muster("submit", "-o", "name", "--wait", "--", "sh", "-c", "exit 4")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stdout.decode(), r"^\S+\n$")

    def test_the_nasty_list_arrives_byte_for_byte(self):
        nasty = [b"", b"a b", b"new\nline", b"'\"`$x\\", b"\xff\xfe\x80", "ü€😀".encode(), b"--flag", b"-n", b"*", b"\x01\x1b[31m", b"x" * 131071]
        probe = os.path.join(self.dir, "probe.py")
        self.write(probe, "import os,sys,hashlib\nprint(hashlib.sha256(b'\\0'.join(map(os.fsencode, sys.argv[1:]))).hexdigest())\n")
        for args in ([a] for a in nasty), [nasty]:
            for case in args:
                done = self.muster("run", "--", sys.executable, probe, *case)
                self.assertEqual(done.stdout.decode().strip(), hashlib.sha256(b"\0".join(case)).hexdigest(), (case, done.stderr[-500:]))

    def test_an_argument_over_the_kernels_limit_is_refused_naming_it(self):
        done = subprocess.run([BINARY, "submit", "--from", "-"], input=json.dumps({"command": ["echo", "x" * 131072]}).encode(), capture_output=True, env=self.env, cwd=self.dir)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"131071", done.stderr.replace(b",", b""))

    def test_the_same_key_gives_the_same_job(self):
        first = self.submit("--key", "k1", "--", "echo", "1")
        self.assertEqual(self.submit("--key", "k1", "--", "echo", "1"), first)
        done = self.muster("submit", "--key", "k1", "--", "echo", "2")
        self.assertEqual(done.returncode, 8)
        self.assertIn(b"k1", done.stderr)
        self.assertEqual(len(self.jobs()), 1)

    def test_from_a_file_answers_line_by_line(self):
        lines = [{"command": ["echo", "1"]}, {"comand": ["echo"]}, {"command": ["sh", "-c", "exit 5"], "name": "five"}, {"command": [{"b64": "L2Jpbi9lY2hv"}, {"b64": "/w=="}]}]
        text = "\n".join(map(json.dumps, lines)) + "\n{\"command\": [\"trunc"
        done = self.muster("submit", "--from", "-", input=text.encode())
        ids = done.stdout.decode().split()
        self.assertEqual(len(ids), 3)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"line 2", done.stderr)
        self.assertIn(b"line 5", done.stderr)
        self.assertIn(b"command", done.stderr)
        self.assertEqual(self.muster("wait", "five").returncode, 5)
        self.muster("wait", ids[2])
        self.assertEqual(self.ok("logs", ids[2]), b"\xff\n")

    def test_many_clients_with_one_key_make_one_job(self):
        self.ok("query")
        seen = []

        def one():
            seen.append(self.submit("--key", "shared", "--", "true"))

        threads = [threading.Thread(target=one) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 50)
        self.assertEqual(len(set(seen)), 1)


class Looking(World):
    config = "clusters:\n  local:\n    nodes:\n      - {name: v, count: 2, cpus: 2}\n"

    def listed(self, query):
        """The list of jobs as the API gives it."""
        door = http.client.HTTPConnection("muster", timeout=60)
        door.sock = socket.socket(socket.AF_UNIX)
        with contextlib.closing(door):
            door.sock.connect(os.path.join(self.home, "socket"))
            door.request("GET", "/v1/jobs" + query)
            answer = door.getresponse()
            return answer.status, answer.read().decode()

    @staticmethod
    def microseconds(time):
        return str(round(datetime.datetime.fromisoformat(time).timestamp() * 1e6)) if time else ""

    def check_table_view(self, states):
        documents = json.loads(self.listed("")[1])["jobs"]
        titles, *lines = self.listed("?view=table")[1].splitlines()
        rows = [dict(zip(titles.split("\t"), line.split("\t"))) for line in lines]
        self.assertEqual({job["state"] for job in documents}, states)
        self.assertEqual(len(rows), len(documents))
        for row, job in zip(rows, documents):
            for name in ("id", "name", "user", "state", "cluster"):
                self.assertEqual(row[name], job[name], name)
            for name in ("submitted", "started", "ended"):
                self.assertEqual(row[name], self.microseconds(job[name + "_at"]), f"{name} of {job['name']}")
            self.assertEqual(row["attempts"], str(job["attempt"]))
            self.assertEqual(row["procs"], f"2x{job['procs_per_node']}" if job["nodes"] == 2 else "1")
            reason = job["reasons"][0]["text"] if job["reasons"] else {3: "user_code (exit 3)"}.get(job["exit_code"], "")
            self.assertEqual(row["reason"].split("held by")[0], reason.split("held by")[0] or f"by {job['cancelled_by']}" * bool(job["cancelled_by"]))
        self.assertEqual({row["command"] for row in rows}, {"sleep 1000", "printf 'a\\tb'", "exit 3"})

    def test_the_view_of_a_table_follows_the_documents(self):
        self.submit("--nodes", "2", "--cpus", "2", "--name", "holds", "--", "sleep", "1000")
        self.submit("--name", "waits", "--", "printf", "a\tb")
        self.submit("--name", "shell", "--shell", "exit 3")
        self.wait_state("holds", "running")
        for _ in range(2):  # made, then kept
            self.check_table_view({"queued", "running"})
        self.ok("abort", "holds")
        self.wait_all_final()
        self.check_table_view({"succeeded", "failed", "cancelled"})
        status, refusal = self.listed("?view=tabel")
        self.assertEqual((status, json.loads(refusal)["kind"]), (400, "usage"))

    def test_ids_are_found_by_any_unique_part(self):
        ident = self.submit("--name", "first", "--", "true")
        self.submit("--name", "second", "--", "true")
        for part in (ident, ident[:-2], ident[-6:], "first"):
            self.assertEqual(self.job(part)["id"], ident, part)
        done = self.muster("query", ident.split("_")[0])
        self.assertEqual(done.returncode, 2)
        self.assertIn(ident.encode(), done.stderr)
        done = self.muster("why", "frist")
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"first", done.stderr)

    def test_a_gang_waits_with_reasons_and_runs_on_two_nodes(self):
        blocker = self.submit("--cpus", "2", "--name", "blocker", "--", "sleep", "100")
        gang = self.submit("--nodes", "2", "--procs-per-node", "2", "--name", "gang", "--", "sh", "-c", "echo $RANK $NODE_RANK $MUSTER_NODE")
        behind = self.submit("--name", "behind", "--", "true")
        job = self.job(gang)
        self.assertEqual(job["state"], "queued")
        self.assertEqual(job["reasons"][0]["code"], "busy")
        self.assertIn(blocker, job["reasons"][0]["text"])
        self.assertEqual(self.job(behind)["reasons"][0]["code"], "turn")
        self.assertIn(b"waiting:", self.ok("why", gang))
        self.ok("abort", blocker)
        self.assertEqual(self.muster("wait", gang, behind).returncode, 0)
        self.assertEqual(sorted(self.ok("logs", "--rank", "all", gang).splitlines()), [b"[0] 0 0 v-0", b"[1] 1 0 v-0", b"[2] 2 1 v-1", b"[3] 3 1 v-1"])

    def test_a_failing_rank_stops_the_gang_and_gives_its_code(self):
        done = self.muster("run", "--nodes", "2", "--procs-per-node", "2", "--name", "g", "--", "sh", "-c", "[ $RANK = 3 ] && exit 7; sleep 100")
        self.assertEqual(done.returncode, 7)
        attempt = self.job("g")["attempts"][0]
        self.assertEqual((attempt["first_failed_rank"], attempt["cause"]), (3, "user_code"))

    def test_what_can_never_run_is_said_at_once(self):
        done = self.muster("submit", "--cpus", "64", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"largest node", done.stderr)

    def test_logs_are_exact_and_split(self):
        ident = self.submit("--", "sh", "-c", "echo out; echo err >&2; printf '\\1\\377'")
        self.muster("wait", ident)
        self.assertEqual(self.ok("logs", "--stdout", ident), b"out\n\x01\xff")
        self.assertEqual(self.ok("logs", "--stderr", ident), b"err\n")
        self.assertEqual(self.ok("logs", "--tail", "1", "--stdout", ident), b"\x01\xff")
        self.assertEqual(self.muster("logs", "--rank", "9", ident).returncode, 5)

    def test_following_ends_with_the_job(self):
        ident = self.submit("--", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done")
        self.assertEqual(self.ok("logs", "-f", ident), b"1\n2\n3\n")

    def test_wait_of_many(self):
        good, bad = self.submit("true"), self.submit("--", "sh", "-c", "exit 1")
        self.assertEqual(self.muster("wait", good, bad).returncode, 100)
        slow = self.submit("sleep", "100")
        self.assertEqual(self.muster("wait", "--timeout", "300ms", slow).returncode, 101)
        self.ok("abort", slow)
        self.assertEqual(self.muster("wait", good, slow).returncode, 103)

    def test_abort_is_whole_and_idempotent(self):
        ident = self.submit("--grace", "200ms", "--", "sh", "-c", "trap '' TERM; (setsid sleep 1000 &) ; sleep 1000")
        self.wait_state(ident, "running")
        self.ok("abort", ident)
        self.ok("abort", ident)
        self.wait_state(ident, "cancelled")
        eventually("no process is left", lambda: not self.processes_with(f"MUSTER_JOB_ID={ident}"), 5)
        self.assertIn(b"cancelled", self.ok("abort", ident))

    def test_a_time_limit_ends_it(self):
        ident = self.submit("--time", "300ms", "--grace", "100ms", "--", "sleep", "100")
        self.assertEqual(self.muster("wait", ident).returncode, 125)
        self.assertEqual(self.job(ident)["cause"], "time_limit")

    def test_user_retries_are_counted(self):
        ident = self.submit("--retries", "user=1", "--", "sh", "-c", "echo $MUSTER_ATTEMPT; exit 1")
        job = self.wait_state(ident, "queued", seconds=20)
        self.assertEqual(job["reasons"][0]["code"], "back_off")


class Server(World):
    def test_a_second_server_is_refused_naming_the_first(self):
        self.ok("query")
        done = self.muster("serve")
        self.assertEqual(done.returncode, 8)
        self.assertIn(str(self.server_pid()).encode(), done.stderr)

    def test_nothing_is_open_to_others(self):
        self.ok("run", "--", "sh", "-c", "echo secret")
        for folder, dirs, files in os.walk(self.home):
            for name in dirs + files:
                mode = os.lstat(os.path.join(folder, name)).st_mode
                if not stat.S_ISLNK(mode):
                    self.assertEqual(mode & 0o077 if not name.startswith("muster-") else 0, 0, os.path.join(folder, name))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_another_user_can_use_nothing(self):
        self.ok("query")
        os.chmod(self.base, 0o755)
        os.chmod(self.home, 0o755)  # even with the door open
        os.chmod(os.path.join(self.home, "socket"), 0o666)
        done = self.muster("query", user=65534, group=65534, extra_groups=[])
        self.assertIn(done.returncode, (4,), done.stderr)
        os.chmod(self.home, 0o700)
        done = self.muster("secret", "list", user=65534, group=65534, extra_groups=[])
        self.assertEqual((done.returncode, done.stdout), (4, b""), done)
        done = self.muster("query", user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 4, done.stderr)
        os.chmod(self.base, 0o700)

    def test_a_garbage_socket_is_an_error_not_a_crash(self):
        os.makedirs(self.home, 0o700)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.home, "socket"))
        listener.listen()

        def babble():
            for _ in range(2):
                peer, _ = listener.accept()
                try:
                    peer.sendall(b"\x00\xff garbage\r\n\r\n" * 10)
                    peer.close()
                except OSError:
                    pass

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        done = self.muster("query", timeout=60)
        self.assertIn(done.returncode, (6, 9), done.stderr)
        self.assertTrue(done.stderr.startswith(b"muster: "))
        listener.close()
        os.unlink(os.path.join(self.home, "socket"))

    def test_http_nonsense_gets_an_answer(self):
        self.ok("query")
        path = os.path.join(self.home, "socket")
        for text, status in ((b"GARBAGE\r\n\r\n", b"400"), (b"GET /v1/nope HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
                             (b"DELETE /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
                             (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{\"com", b"400"),
                             (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]", b"400"),
                             (b"GET /v1/jobs/..%2f..%2fetc HTTP/1.1\r\nHost: x\r\n\r\n", b"404")):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(20)
            peer.connect(path)
            peer.sendall(text)
            answer = peer.recv(65536)
            peer.close()
            self.assertTrue(answer.startswith(b"HTTP/1.1 " + status), (text, answer[:200]))
        self.assertEqual(self.muster("run", "--", "true").returncode, 0)

    def test_an_outside_script_can_post_a_plain_job(self):
        self.ok("query")
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.path.join(self.home, "socket"))
        body = json.dumps({"command": ["sh", "-c", "echo $HOME-$USER; pwd"], "dir": self.dir, "name": "posted"}).encode()
        peer.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertTrue(peer.recv(65536).startswith(b"HTTP/1.1 201"))
        peer.close()
        self.assertEqual(self.muster("wait", "posted").returncode, 0)
        self.assertTrue(self.ok("logs", "posted").decode().endswith(self.dir + "\n"))

    def test_a_store_that_vanished_is_told(self):
        ident = self.submit("--", "true")
        self.ok("wait", ident)
        self.ok("serve", "--stop")
        checks = lambda: [one for one in json.loads(self.ok("doctor", "-o", "json"))["checks"] if one["name"] == "jobs"]
        self.assertEqual(checks(), [])
        self.ok("serve", "--stop")
        for name in os.listdir(self.home):
            if name.startswith("store.db"):
                os.remove(os.path.join(self.home, name))
        [found] = checks()
        self.assertEqual(found["state"], "warn")
        self.assertIn(ident, found["text"])
        self.assertIn("store.db", found["fix"])
        with open(os.path.join(self.home, "server.log"), encoding="utf-8") as file:
            self.assertIn(ident, [line for line in file if "store does not know" in line][0])

    def test_the_server_leaves_when_idle_and_empty(self):
        server = subprocess.Popen([BINARY, "serve", "--background", "--idle", "100ms"], env=self.env, cwd="/", stderr=subprocess.DEVNULL)
        self.assertEqual(server.wait(60), 0)


class BadInput(World):
    def test_mistakes_get_a_clear_error_and_its_code(self):
        for args, code, word in ((["sumbit", "x"], 2, b"submit"), (["query", "--jsn"], 2, b"json"), (["submit"], 2, b"command"),
                                 (["submit", "--nodes", "0", "--", "true"], 2, b"nodes"), (["submit", "--memory", "lots", "--", "true"], 2, b"lots"),
                                 (["submit", "--nodes", "99999999", "--", "true"], 2, b"nodes"), (["submit", "-n", "4", "--", "true"], 2, b"--procs"),
                                 (["logs", "nope"], 5, b"nope"), (["submit", "-c", "mars", "--", "true"], 5, b"mars"), (["wait"], 2, b"ID"),
                                 (["submit", "--from", "/no/such/file"], 5, b"/no/such/file"), (["submit", "--dir", "/no/such", "--", "true"], 5, b"/no/such")):
            done = self.muster(*args)
            with self.subTest(args=args):
                self.assertIn(done.returncode, (code, 2, 5) if code == 5 else (code,), done.stderr)
                self.assertIn(word, done.stderr)
                self.assertTrue(done.stderr.startswith(b"muster: "), done.stderr)

    def test_a_queue_that_is_not_there_is_refused(self):
        done = self.muster("submit", "--queue", "nope", "--", "true")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b'no queue "nope"', done.stderr)
        self.assertIn(b'"default"', done.stderr)
        self.assertEqual(self.jobs(), [])
        self.write(os.path.join(self.home, "config.yaml"), "clusters:\n  night: {queue: night}\n")
        ident = self.submit("-c", "night", "--queue", "night", "--", "true")
        self.assertEqual(self.job(ident)["queue"], "night")
        self.ok("wait", ident)
        again = self.ok("resubmit", "-o", "name", ident).decode().strip()
        self.assertEqual(self.job(again)["queue"], "night")
        for words in (("submit", "-c", "night", "--queue", "noon", "--", "true"), ("resubmit", "--queue", "noon", ident)):
            self.assertEqual(self.muster(*words).returncode, 2, words)
        self.submit("-c", "night", "--queue", "default", "--", "true")

    def test_a_bad_configuration_names_the_place(self):
        os.mkdir(self.home, 0o700)
        for text, word in (("clusters:\n  local:\n    quue: x\n", b"queue"), ("a: [1\n", b"config.yaml"), ("clusters: {local: {nodes: 3}}\n", b"nodes")):
            self.write(os.path.join(self.home, "config.yaml"), text)
            done = self.muster("submit", "true")
            with self.subTest(text=text):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
