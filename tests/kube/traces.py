"""Everything a running cluster has on this machine, noted down, so that its absence can be seen."""

import os

from . import cgroups, sweep
from .cluster import read_json

KINDS = ("pid", "mnt", "net")


class Traces:
    def __init__(self, cluster):
        self._name = cluster.name
        pids = read_json(self._name, "pids.json")
        self.processes = {pid: sweep.start_of(pid) for pid in family(pids["keeper"])}
        self.broom = next(pid for pid in children(pids["keeper"]) if pid != pids["first"])
        self.namespaces = {space for pid in self.processes for space in spaces(pid)} - set(spaces(os.getpid()))

    @classmethod
    def of(cls, name):
        return cls(type("Named", (), {"name": name}))

    def commands(self):
        return [command(pid) for pid in self.processes]

    def left(self):
        """What is still there, by kind; empty when nothing is."""
        everybody = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line for line in file if self._name in line]
        alive = [pid for pid, start in self.processes.items() if start is not None and sweep.start_of(pid) == start]
        found = {"processes": [f"{pid} {command(pid)}" for pid in alive],
                 "namespaces": [f"{pid} {command(pid)}" for pid in everybody if self.namespaces & set(spaces(pid))],
                 "mounts": mounts,
                 "groups": cgroups.present(self._name),
                 "folders": [name for name in os.listdir(sweep.state_root()) if name == self._name]}
        return {kind: what for kind, what in found.items() if what}


def children(pid):
    try:
        found = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
        return found
    except OSError:
        return []


def family(pid):
    """The process and all below it, as this machine counts them."""
    return [pid] + [one for child in children(pid) for one in family(child)]


def spaces(pid):
    found = []
    for kind in KINDS:
        try:
            found.append(os.readlink(f"/proc/{pid}/ns/{kind}"))
        except OSError:
            pass  # it has gone
    return found


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
