"""A muster home of its own for a test: the real binary, real processes, a clean world each time."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("MUSTER_BINARY", os.path.join(ROOT, "build", "muster"))


def eventually(what, condition, seconds=30):
    """Polls until the condition gives something true; fails the test when it never does."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


class World(unittest.TestCase):
    """Each test gets an empty home and an empty folder; both are checked and removed at the end."""

    config = None  # text of config.yaml
    check_fold = True
    code = "here"  # or "snapshot", as people have it

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="muster-test-")
        self.home = os.path.join(self.base, "home")
        self.dir = os.path.join(self.base, "dir")
        os.mkdir(self.dir)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.base, "MUSTER_HOME": self.home, "LANG": "C.UTF-8", "MUSTER_CODE": self.code}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if self.config is not None:
            os.mkdir(self.home, 0o700)
            self.write(os.path.join(self.home, "config.yaml"), self.config)

    def tearDown(self):
        try:
            if self.check_fold and os.path.exists(os.path.join(self.home, "store.db")):
                self.ok("abort", "--all")
                self.wait_all_final()
                report = json.loads(self.muster("doctor", "--deep", "-o", "json").stdout)
                fold = [c for c in report["checks"] if "events agree" in c["name"]]
                self.assertEqual([c["state"] for c in fold], ["ok"], fold)
        finally:
            self.muster("serve", "--stop")
            self.kill_leftovers()
            shutil.rmtree(self.base, ignore_errors=True)

    def kill_leftovers(self):
        """Ends what a failed test may have left: processes whose environment names this home."""
        marker = ("MUSTER_HOME=" + self.home).encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if int(pid) != os.getpid() and marker in file.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass

    # Running muster ---------------------------------------------------------------------------

    def muster(self, *args, input=None, env=None, cwd=None, timeout=120, **more):
        return subprocess.run([BINARY, *args], input=input, capture_output=True, env=env or self.env,
                              cwd=cwd or self.dir, timeout=timeout, **more)

    def ok(self, *args, **more):
        done = self.muster(*args, **more)
        self.assertEqual(done.returncode, 0, (args, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout

    def submit(self, *args, **more):
        return self.ok("submit", "-o", "name", *args, **more).decode().strip()

    def job(self, ident):
        return json.loads(self.ok("query", "-o", "json", ident))

    def jobs(self):
        return json.loads(self.ok("query", "--all", "-o", "json"))["jobs"]

    def wait_state(self, ident, *states, seconds=60):
        return eventually(f"{ident} in {states}", lambda: (lambda j: j if j["state"] in states else None)(self.job(ident)), seconds)

    def wait_all_final(self, seconds=120):
        final = {"succeeded", "failed", "cancelled"}
        eventually("every job final", lambda: all(j["state"] in final for j in self.jobs()), seconds)

    # The server -------------------------------------------------------------------------------

    def server_pid(self):
        try:
            with open(os.path.join(self.home, "server.pid"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def kill_server(self):
        pid = self.server_pid()
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    # Files and processes ----------------------------------------------------------------------

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def shims_of(self, ident):
        """Pids of the job's supervisors, from their own files."""
        pids = []
        for folder, _, files in os.walk(os.path.join(self.home, "jobs", ident)):
            if "shim.json" in files and "exit.json" not in files:
                with open(os.path.join(folder, "shim.json"), encoding="utf-8") as file:
                    pids.append(json.load(file)["pid"])
        return pids

    @staticmethod
    def processes_with(marker):
        """Pids of processes whose environment has this NAME=VALUE."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if marker.encode() in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found
