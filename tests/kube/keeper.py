"""The process that a cluster hangs on: when it ends, in whatever way, everything ends.

    owner (a test, or nobody)
      keeper   waits for its owner to let go, for TERM, or for the end of process 1
        process 1   of a pid namespace: killing it makes the kernel kill all others (inside.py)
          etcd, kube-apiserver, ... containerd, shims, containers
      broom    outlives the keeper for a moment, and removes what the kernel does not

Without root there is no namespace: process 1 is an ordinary one, whose children die with it.
"""

import json
import os
import select
import signal
import socket
import sys

from . import inside, namespaces, net, sweep
from .programs import adopt_orphans, die_with_parent

PORTS = ("api", "etcd", "peer", "controllers", "scheduler", "kwok")
PATIENCE = 30_000  # milliseconds for the kernel to end a cluster


def main():
    options = json.loads(sys.argv[1])
    name = sweep.name_of(os.getpid())
    folder = os.path.join(sweep.state_root(), name)
    os.makedirs(os.path.join(folder, "log"), mode=0o700)
    print(name, flush=True)
    log = os.open(os.path.join(folder, "log", "keeper.log"), os.O_CREAT | os.O_WRONLY, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    listener = choose_ports(options)
    told = start_broom(name, listener)
    adopt_orphans()
    first = start_first(options, folder, name, listener)
    os.write(told, f"{first}\n".encode())
    write_pids(folder, first, options["is_held"])
    watch(first, options["is_held"])
    os.kill(first, signal.SIGKILL)
    bury_all()


def choose_ports(options):
    """Returns the socket of the API server's port on the machine's loopback. With real nodes the
    server is in another network: then the socket listens already, and forward.py takes it along."""
    options["ports"], held = net.free_ports(PORTS)
    for port in held[1:]:
        port.close()
    if options["real_nodes"]:
        held[0].listen(512)
    return held[0]


def start_broom(name, listener):
    """Returns the writing end of its pipe; the pipe's end tells it that keeper and process 1 are gone."""
    reading, writing = os.pipe()
    if os.fork() != 0:
        os.close(reading)
        return writing
    os.setsid()  # what kills the keeper's group must not kill the broom
    os.close(writing)
    listener.close()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    try:
        with os.fdopen(reading, "rb") as pipe:
            await_end(pipe.readline(), pipe)
        sweep.clean(name)
    finally:
        os._exit(0)


def await_end(line, pipe):
    try:
        first = os.pidfd_open(int(line)) if line else None
    except OSError:  # gone already
        first = None
    pipe.read()
    if first is not None:
        # Process 1 counts as ended only when the kernel has ended all others of its namespace.
        waiting = select.poll()
        waiting.register(first, select.POLLIN)
        waiting.poll(PATIENCE)


def start_first(options, folder, name, listener):
    """Forks process 1 and returns its pid as we see it."""
    go_reading, go_writing = os.pipe()
    if options["is_root"]:
        namespaces.unshare(namespaces.NEW_PIDS)
    first = os.fork()
    if first != 0:
        os.close(go_reading)
        os.write(go_writing, b"!")
        os.close(go_writing)
        if not options["real_nodes"]:
            listener.close()
        return first
    os.close(go_writing)
    die_with_parent()
    if os.read(go_reading, 1) != b"!":  # the keeper died before we could hang on it
        os._exit(1)
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    try:
        inside.run(options, folder, name, listener)
    finally:
        os._exit(1)


def bury_all():
    """Waits for process 1 and, without a namespace, for the orphans it leaves. The broom is not
    waited for, since it waits for us: it has a group of its own."""
    try:
        while True:
            os.waitpid(0, 0)
    except ChildProcessError:
        return


def write_pids(folder, first, is_held):
    with open(os.path.join(folder, "pids.json"), "w", encoding="ascii") as file:
        json.dump({"keeper": os.getpid(), "first": first, "is_held": is_held}, file)


def watch(first, is_held):
    """Returns when it is time to end. An owner that dies lets go of its end of our standard input."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    waiting = select.poll()
    ends = [reading.fileno(), os.pidfd_open(first), *([0] if is_held else [])]
    for end in ends:
        waiting.register(end, select.POLLIN)
    waiting.poll()


if __name__ == "__main__":
    main()
