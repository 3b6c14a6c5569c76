"""What a person sees at a terminal of 80 columns: colours, folds, waiting, Ctrl-C."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import BINARY, World, eventually  # noqa: E402

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, args, env, cwd, columns=80):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.text = ""
        self.program = subprocess.Popen(args, stdin=slave, stdout=slave, stderr=slave, env=dict(env, TERM="xterm"), cwd=cwd,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def read(self, seconds):
        """Takes what comes; False at the end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += chunk.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)

    def until(self, part, seconds=30):
        deadline = time.monotonic() + seconds
        while part not in self.text:
            if not self.read(0.1) or time.monotonic() > deadline:
                raise AssertionError(f"{part!r} did not appear in {self.text!r}")

    def press(self, key):
        os.write(self.master, key)

    def end(self):
        while self.read(30):
            pass
        os.close(self.master)
        return self.program.wait(30)


class Terminal(World):
    config = "clusters:\n  local:\n    kind: local\n    nodes: [{name: desk, count: 2, cpus: 2, memory: 1G}]\n"

    def screen(self, *args, **more):
        return Screen([BINARY, *args], self.env, self.dir, **more)

    def shown(self, *args):
        screen = self.screen(*args)
        return screen.end(), screen.text

    def fill(self):
        blockers = [self.submit("--cpus", "2", "--", "sleep", "1000") for _ in range(2)]
        for ident in blockers:
            self.wait_state(ident, "running")
        return blockers

    def test_nothing_is_wider_than_the_terminal(self):
        self.ok("run", "--", "true")
        self.fill()
        waiting = self.submit("--name", "waiting", "--cpus", "2", "--", "echo", "x" * 200)
        failed = self.submit("--cpus", "0.1", "--", "/nowhere/" + "long-name " * 12)
        for args in (["query"], ["why", waiting], ["doctor"], ["query", waiting], ["why", failed],
                     ["submit", "--cpus", "64", "--", "true"], ["config", "explain", "no_such"]):
            _, text = self.shown(*args)
            wide = [line for line in ESCAPE.sub("", text).splitlines() if len(line) > 80]
            # A word that is wider than the terminal by itself (a path) is left whole.
            self.assertEqual([line for line in wide if max(map(len, line.split())) < 60], [], args)

    def test_states_have_colours_unless_refused(self):
        self.ok("run", "--", "true")
        self.assertIn("\x1b[32msucceeded\x1b[0m", self.shown("query")[1])
        self.env["NO_COLOR"] = "1"
        self.assertNotIn("\x1b", self.shown("query")[1])

    def test_run_says_what_it_waits_for_and_ctrl_c_cancels_it(self):
        self.fill()
        screen = self.screen("run", "--name", "late", "--cpus", "2", "--", "echo", "never")
        screen.until("waits:")
        screen.press(b"\x03")
        self.assertEqual(screen.end(), 125)
        self.assertIn("had not started", screen.text)
        self.assertEqual(self.job("late")["state"], "cancelled")
        self.assertNotIn("cancelled: cancelled", self.shown("query", "late")[1])

    def test_ctrl_c_goes_to_the_job_and_is_named_as_the_end(self):
        screen = self.screen("run", "--", "sh", "-c", "echo ready; exec sleep 1000")
        screen.until("ready\n")
        screen.press(b"\x03")
        self.assertEqual(screen.end(), 130)
        self.assertIn("handed on", screen.text)

    def test_the_hint_uses_the_name(self):
        self.assertIn("muster logs -f mine\n", self.shown("submit", "--name", "mine", "--", "true")[1])
        self.assertNotIn("follow it", self.shown("submit", "--wait", "--", "true")[1])

    def test_a_usual_size_is_not_worth_a_column(self):
        self.ok("run", "--", "true")
        self.assertNotIn("PROCS", self.shown("query")[1])
        self.assertIn("PROCS", self.ok("query").decode(), "but scripts always get all columns")

    def test_too_many_processes_for_a_node_are_told_how_to_spread(self):
        done = self.muster("submit", "--procs", "4", "--", "true")
        self.assertIn(b"--nodes 2", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
