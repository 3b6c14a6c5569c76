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


class Places(World):
    """A value in a file of one's own, and one in the shell that submits."""

    CANARY = b"c4nary-placed-31fe"
    PRINT = ("--", "sh", "-c", 'printf %s "$TOKEN" | sha256sum | cut -c1-8')

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.base, "token")
        with open(self.file, "wb") as file:
            file.write(self.CANARY + b"\n")
        os.chmod(self.file, 0o600)

    def leaks(self, *but):
        """Files of the home that hold the value, but for those in folders made to hold it."""
        found = []
        for folder, _, files in os.walk(self.home):
            if os.path.relpath(folder, self.home).split(os.sep)[0] in but:
                continue
            for name in files:
                if os.path.isfile(os.path.join(folder, name)):
                    with open(os.path.join(folder, name), "rb") as file:
                        found += [name] if self.CANARY in file.read() else []
        return found

    def arrived(self, ident):
        self.ok("wait", ident)
        self.assertEqual(self.ok("logs", ident).decode().strip(), hashlib.sha256(self.CANARY).hexdigest()[:8])
        self.assertNotIn(self.CANARY, self.ok("query", "-o", "json", ident) + self.ok("why", ident))

    def refused(self, code, word, *args):
        done = self.muster("submit", *args, "--", "true")
        self.assertEqual(done.returncode, code, done)
        self.assertIn(word, done.stderr)
        self.assertNotIn(self.CANARY, done.stderr)

    def test_a_file_of_ones_own(self):
        given = f"TOKEN=secret://file:{self.file}"
        ident = self.submit("-e", given, *self.PRINT)
        self.arrived(ident)
        self.assertEqual(self.leaks(), [])
        self.arrived(self.ok("resubmit", "-o", "name", ident).decode().strip())
        os.chmod(self.file, 0o640)
        self.refused(4, b"chmod 600", "-e", given)
        os.chmod(self.file, 0o600)
        if os.geteuid() == 0:
            os.chown(self.file, 65534, 65534)
            self.refused(4, b"another user", "-e", given)
        self.refused(5, b"nowhere", "-e", f"TOKEN=secret://file:{self.base}/nowhere")
        self.refused(2, b"absolute", "-e", "TOKEN=secret://file:token")
        self.refused(2, b"no file", "-e", f"TOKEN=secret://file:{self.base}")
        line = b'{"command":["true"],"env":{"TOKEN":"secret://file:/nowhere/at/all"}}\n'
        self.assertIn(b"/nowhere/at/all", self.muster("submit", "--from", "-", input=line).stderr)

    def test_a_variable_of_the_shell_that_submits(self):
        self.env["MINE"] = self.CANARY.decode()
        given = "TOKEN=secret://env:MINE"
        ident = self.submit("-e", given, *self.PRINT)
        line = b'{"command":["sh","-c","printf %s \\"$TOKEN\\" | sha256sum | cut -c1-8"],"env":{"TOKEN":"secret://env:MINE"}}\n'
        many = self.ok("submit", "--from", "-", "-o", "name", input=line).decode().strip()
        del self.env["MINE"]
        for one in (ident, many):
            self.arrived(one)
        self.arrived(self.ok("resubmit", "-o", "name", ident).decode().strip())
        self.assertEqual(self.leaks("env"), [])
        self.refused(2, b"export MINE=", "-e", given)
        self.assertEqual(self.muster("resubmit", "-e", given, ident).returncode, 2)
        self.env["MINE"] = self.CANARY.decode()
        self.arrived(self.ok("resubmit", "-o", "name", "-e", given, ident).decode().strip())


if __name__ == "__main__":
    unittest.main()
