"""Values of the environment are the person's own: they reach the job and nothing else (I10)."""

import hashlib
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World, eventually  # noqa: E402

CANARIES = [b"c4nary-inherited-5f1d", b"c4nary-given-90ab"]


class Secrets(World):
    def setUp(self):
        super().setUp()
        self.env["API_TOKEN"] = CANARIES[0].decode()

    def leaks_in_home(self):
        """Files that hold a value, but for those made to hold it."""
        found = []
        for folder, _, files in os.walk(self.home):
            if os.path.relpath(folder, self.home).split(os.sep)[0] == "env":
                continue
            for name in files:
                if not os.path.isfile(os.path.join(folder, name)):
                    continue  # the socket
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read()
                found += [(os.path.join(folder, name), c) for c in CANARIES if c in text]
        return found

    def leaks_in_arguments(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    text = file.read()
            except OSError:
                continue
            if int(pid) != os.getpid() and any(c in text for c in CANARIES):
                found.append(text)
        return found

    def test_a_value_reaches_the_job_and_nothing_else(self):
        given = f"GIVEN={CANARIES[1].decode()}"
        ident = self.submit("-e", given, "--retries", "user=1", "--", "sh", "-c",
                            'printf %s "$API_TOKEN$GIVEN" | sha256sum; touch ready; sleep 1; exit 1')
        eventually("it runs", lambda: os.path.exists(os.path.join(self.dir, "ready")))
        self.assertEqual(self.leaks_in_arguments(), [])
        self.kill_server()  # what a restart writes counts as well
        self.assertEqual(self.muster("wait", ident).returncode, 1)
        missing = self.muster("run", "-e", given, "--", "no-such-program")
        documents = missing.stdout + missing.stderr
        for verb in ("query", "why", "logs"):
            documents += self.ok(verb, ident)
            if verb != "logs":
                documents += self.ok(verb, "-o", "json", ident)
        documents += self.ok("doctor", "--deep", "-o", "json") + self.ok("query", "--all", "-o", "json")
        self.assertEqual([c for c in CANARIES if c in documents], [])
        self.assertIn(b"API_TOKEN", self.ok("query", "-o", "json", ident), "names are no secret")
        self.assertEqual(self.leaks_in_home(), [])
        self.ok("serve", "--stop")
        self.assertEqual(self.leaks_in_home(), [])


class References(Secrets):
    """The same with a value kept by muster and named by reference; here it must not even be in env/."""

    def leaks_in_home(self):
        found = []
        for folder, _, files in os.walk(self.home):
            if os.path.relpath(folder, self.home).split(os.sep)[0] == "secrets":
                continue
            for name in files:
                if os.path.isfile(os.path.join(folder, name)):
                    with open(os.path.join(folder, name), "rb") as file:
                        found += [name] if b"c4nary-kept-77aa" in file.read() else []
        return found

    def test_a_value_reaches_the_job_and_nothing_else(self):
        self.ok("secret", "set", "token", input=b"c4nary-kept-77aa\n")
        self.assertEqual(os.stat(os.path.join(self.home, "secrets", "token")).st_mode & 0o777, 0o600)
        self.assertEqual(self.ok("secret", "list"), b"token\n")
        ident = self.submit("-e", "TOKEN=secret://token", "--", "sh", "-c", 'printf %s "$TOKEN" | sha256sum | cut -c1-8')
        self.ok("wait", ident)
        self.assertEqual(self.ok("logs", ident).decode().strip(), hashlib.sha256(b"c4nary-kept-77aa").hexdigest()[:8])
        self.assertNotIn(b"c4nary", self.ok("query", "-o", "json", ident) + self.ok("why", ident))
        self.assertEqual(self.leaks_in_home(), [])
        missing = self.muster("submit", "-e", "TOKEN=secret://nope", "--", "true")
        self.assertEqual(missing.returncode, 5)
        self.assertIn(b"muster secret set nope", missing.stderr)
        self.assertEqual(self.muster("secret", "set", "../x", input=b"v").returncode, 2)
        self.ok("secret", "rm", "token")
        self.assertEqual(self.muster("secret", "rm", "token").returncode, 5)


if __name__ == "__main__":
    unittest.main()
