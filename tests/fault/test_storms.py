"""Bad luck on purpose: servers, supervisors and zygotes killed under load; nothing may be lost."""

import concurrent.futures
import hashlib
import json
import os
import random
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402

KILLS = int(os.environ.get("MUSTER_STORM_KILLS", "200"))
ARGUMENTS = int(os.environ.get("MUSTER_STORM_ARGUMENTS", "100000"))
SEED = int(os.environ.get("MUSTER_STORM_SEED", str(random.randrange(1 << 30))))


class KillStorm(World):
    config = "clusters:\n  local:\n    nodes:\n      - {name: v, cpus: 16, memory: 8G}\n"

    def submit_at_last(self, *args):
        """On a slow machine every server of a try may be killed before it serves: then the client says so (6), and the
        same key is safe to send again."""
        for _ in range(100):
            done = self.muster("submit", "-o", "name", *args, timeout=300)
            if done.returncode != 6:
                break
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode().strip()

    def test_a_server_killed_at_random_loses_and_disturbs_nothing(self):
        print(f"replay: MUSTER_STORM_SEED={SEED} MUSTER_STORM_KILLS={KILLS}", flush=True)
        rng = random.Random(SEED)
        ledger = os.path.join(self.base, "ledger")
        os.mkdir(ledger)
        acked, done, numbers = {}, threading.Event(), iter(range(10**9))
        lock = threading.Lock()

        def submitter():
            while not done.is_set():
                with lock:
                    number = next(numbers)
                code = number % 7
                ident = self.submit_at_last("--key", f"key-{number}", "--name", f"job-{number}", "--", "sh", "-c",
                                            f"echo start >> {ledger}/{number}; sleep 0.0{number % 9}; exit {code}")
                with lock:
                    acked[number] = ident

        threads = [threading.Thread(target=submitter) for _ in range(3)]
        for thread in threads:
            thread.start()
        kills = 0
        while kills < KILLS and any(thread.is_alive() for thread in threads):
            time.sleep(rng.uniform(0.0, 0.08))
            kills += self.kill_server()
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(kills, KILLS)
        self.wait_all_final()
        jobs = {job["name"]: job for job in self.jobs()}
        self.assertEqual(len(jobs), len(self.jobs()), "a job was duplicated")
        self.assertEqual(len(jobs), len(acked), "a job was lost, or made without an answer")
        for number, ident in acked.items():
            job = jobs[f"job-{number}"]
            self.assertEqual(job["id"], ident)
            self.assertEqual((job["exit_code"], job["attempt"]), (number % 7, 1), job)
            with open(os.path.join(ledger, str(number)), encoding="ascii") as file:
                self.assertEqual(file.read(), "start\n", ident)
        print(f"{kills} kills, {len(acked)} jobs: none lost, none twice, every exit code right", flush=True)


class Deaths(World):
    def running(self, *flags):
        ident = self.submit(*flags, "--", "sh", "-c", "(setsid sleep 1000 &); sleep 1000")
        self.wait_state(ident, "running")
        return ident

    def attempt_processes(self, ident, attempt):
        marked = self.processes_with(f"MUSTER_JOB_ID={ident}")
        return [pid for pid in self.processes_with(f"MUSTER_ATTEMPT={attempt}") if pid in marked]

    def test_a_killed_supervisor_leaves_nothing_and_is_retried(self):
        ident = self.running()
        for pid in self.shims_of(ident):
            os.kill(pid, signal.SIGKILL)
        eventually("nothing of attempt 1 is left", lambda: not self.attempt_processes(ident, 1), 5)
        job = eventually("attempt 2 runs", lambda: (lambda j: j if j["attempt"] == 2 and j["state"] == "running" else None)(self.job(ident)))
        self.assertEqual((job["attempts"][0]["cause"], job["attempts"][0]["state"]), ("lost", "ended"))

    def test_a_supervisor_killed_without_a_server_is_cleaned_up_at_the_next_start(self):
        ident = self.running()
        shims = self.shims_of(ident)
        self.assertTrue(self.kill_server())
        for pid in shims:
            os.kill(pid, signal.SIGKILL)
        self.ok("query")
        eventually("nothing of attempt 1 is left", lambda: not self.attempt_processes(ident, 1), 5)
        eventually("attempt 2", lambda: self.job(ident)["attempt"] == 2)

    def test_a_killed_zygote_changes_nothing(self):
        ident = self.running("--cpus", "0.5")
        server = self.server_pid()
        zygotes = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if self.is_zygote(pid, server)]
        self.assertEqual(len(zygotes), 1)
        os.kill(zygotes[0], signal.SIGKILL)
        self.assertEqual(self.muster("run", "--cpus", "0.5", "--", "sh", "-c", "exit 6").returncode, 6)
        job = self.job(ident)
        self.assertEqual((job["state"], job["attempt"]), ("running", 1))

    @staticmethod
    def is_zygote(pid, server):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return parent == server and b"--zygote" in file.read()
        except OSError:
            return False

    def test_a_running_job_does_not_notice_a_new_server(self):
        path = os.path.join(self.dir, "beat")
        ident = self.submit("--", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do echo $i >> {path}; sleep 0.1; done; exit 3")
        self.wait_state(ident, "running")
        for _ in range(3):
            self.kill_server()
            self.ok("query")
        self.assertEqual(self.muster("wait", ident).returncode, 3)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read().split(), list("12345678"))
        self.assertEqual(self.job(ident)["attempt"], 1)


class Many(World):
    config = "clusters:\n  local:\n    nodes:\n      - {name: v, cpus: 16, memory: 8G}\n"

    def test_a_thousand_clients_with_one_key_make_one_job(self):
        self.ok("query")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            seen = list(pool.map(lambda _: self.submit("--key", "one", "--", "true"), range(1000)))
        self.assertEqual(len(set(seen)), 1)
        self.assertEqual(len(self.jobs()), 1)

    def test_random_arguments_variables_and_names_arrive_byte_for_byte(self):
        rng = random.Random(SEED)
        probe = os.path.join(self.dir, "probe.py")
        self.write(probe, "import os,sys,hashlib\n"
                          "names=sorted(os.listdir(os.environb[b'CASE_DIR']))\n"
                          "env=[k+b'='+v for k,v in sorted(os.environb.items()) if k.startswith(b'CASE_')]\n"
                          "print(hashlib.sha256(b'\\0'.join([*map(os.fsencode,sys.argv[1:]),*env,*names])).hexdigest())\n")
        per_job, lines, expected = 400, [], []
        for job in range(max(1, ARGUMENTS // per_job)):
            folder = os.path.join(self.dir, f"case-{job}").encode()
            args = [self.any_bytes(rng, 40) for _ in range(per_job - 20)]
            values = {f"CASE_{i}": self.any_bytes(rng, 60) for i in range(10)}
            names = {self.any_bytes(rng, 30).replace(b"/", b"_") or b"x" for _ in range(10)} - {b".", b".."}
            os.mkdir(folder)
            for name in names:
                with open(os.path.join(folder, name), "wb"):
                    pass
            env = dict(values, CASE_DIR=folder)
            lines.append(json.dumps({"command": [sys.executable, probe, *map(self.wrapped, args)], "name": f"case-{job}",
                                     "env": {k: self.wrapped(v) for k, v in env.items()}}))
            entries = [k.encode() + b"=" + v for k, v in sorted(env.items())]
            expected.append(hashlib.sha256(b"\0".join([*args, *entries, *sorted(names)])).hexdigest())
        ids = self.ok("submit", "--from", "-", input="\n".join(lines).encode(), timeout=600).decode().split()
        self.assertEqual(len(ids), len(expected))
        for ident, digest in zip(ids, expected):
            self.assertEqual(self.muster("wait", ident, timeout=600).returncode, 0, ident)
            self.assertEqual(self.ok("logs", ident).decode().strip(), digest, ident)
        print(f"{len(ids)} jobs, {len(ids) * per_job} arguments, variables and names: all exact (MUSTER_STORM_SEED={SEED})", flush=True)

    @staticmethod
    def any_bytes(rng, longest):
        return bytes(rng.choice((rng.randrange(1, 256), rng.choice(b" \n\t'\"\\$`*?;&|<>(){}[]~#=%!-"))) for _ in range(rng.randrange(longest)))

    @staticmethod
    def wrapped(data):
        try:
            return data.decode()
        except UnicodeDecodeError:
            import base64
            return {"b64": base64.b64encode(data).decode()}


if __name__ == "__main__":
    unittest.main(verbosity=2)
