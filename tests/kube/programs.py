"""The long-running programs of a cluster: started, watched, ended, reaped. One thread only."""

import ctypes
import os
import signal
import subprocess
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    """A part of the cluster did not come up; the text carries the end of its log."""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans():
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)


class Programs:
    """Children of this process by name. All die with it, however it dies."""

    def __init__(self, logs):
        self._logs = logs
        self._plans = {}    # name -> what start() was given
        self._running = {}  # name -> process
        self._codes = {}    # name -> exit status of those that ended

    def start(self, name, argv, before_exec=None, pass_fds=()):
        """`before_exec` runs in the child, for namespaces."""
        self._plans[name] = (argv, before_exec, pass_fds)
        self._codes.pop(name, None)

        def prepare():
            die_with_parent()
            if before_exec:
                before_exec()

        with open(self.log(name), "ab") as log:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=prepare, pass_fds=pass_fds)
        self._running[name] = process
        return process.pid

    def restart(self, name):
        if self.is_alive(name):
            raise Failed(f"{name} runs already")
        return self.start(name, *self._plans[name])

    def log(self, name):
        return os.path.join(self._logs, name + ".log")

    def pid(self, name):
        return self._running[name].pid

    def is_alive(self, name):
        self.reap()
        return name in self._running

    def end(self, name, number=signal.SIGKILL, seconds=20):
        if not self.is_alive(name):
            return
        os.kill(self._running[name].pid, number)
        wait_for(f"the end of {name}", lambda: not self.is_alive(name), seconds)

    def reap(self):
        """Also buries orphans: as process 1 of a namespace we inherit them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for name, process in list(self._running.items()):
                if process.pid == pid:
                    process.returncode = self._codes[name] = os.waitstatus_to_exitcode(status)
                    del self._running[name]

    def report(self):
        self.reap()
        return {name: {"pid": self._running[name].pid} if name in self._running else {"exit": self._codes.get(name)}
                for name in self._plans}

    def until(self, name, condition, seconds=60):
        """Polls until the program answers; its death or the deadline ends the wait with its log."""
        def answers():
            if not self.is_alive(name):
                raise Failed(f"{name} ended with {self._codes.get(name)}:\n{self.tail(name)}")
            return condition()
        try:
            wait_for(name, answers, seconds)
        except TimeoutError:
            raise Failed(f"{name} is not ready after {seconds} s:\n{self.tail(name)}") from None

    def tail(self, name, lines=15):
        with open(self.log(name), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])


def wait_for(what, condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def tool(*argv, text=None):
    """Runs a short command; its complaint is the error's text."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Failed(f"{' '.join(argv)} failed: {(done.stderr or done.stdout).strip()[-1000:]}")
    return done.stdout
