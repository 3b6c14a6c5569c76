"""CPU seconds of a group of processes, dead ones included."""
import os
import pathlib
import resource
import time

CPUACCT = pathlib.Path("/sys/fs/cgroup/cpuacct")


def own_cgroup():
    """This process's folder in the cpuacct hierarchy (version 1), if a folder can be made there."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            folder = CPUACCT / path.lstrip("/")
            return folder if os.access(folder, os.W_OK) else None
    return None


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class CpuMeter:
    """By a cgroup where that is allowed: exact, whatever the processes do. Else only what this
    process has waited for: supervisors whose parent does not wait for them are in no sum of /proc,
    so there is no figure for muster or task-spooler rather than a wrong one."""

    def __init__(self, name):
        parent = own_cgroup()
        self.folder = parent / f"{name}-{os.getpid()}" if parent else None
        if self.folder:
            self.folder.mkdir()
        self.children_before = children_seconds()

    @staticmethod
    def way():
        return "a cpuacct cgroup" if own_cgroup() else "wait4 alone (no cgroup version 1 is writable)"

    @property
    def is_whole(self):
        return self.folder is not None

    def enter(self):
        """In the child, before exec."""
        if self.folder:
            (self.folder / "cgroup.procs").write_text("0")

    def seconds(self):
        if self.folder:
            return int((self.folder / "cpuacct.usage").read_text()) / 1e9
        return children_seconds() - self.children_before

    def close(self):
        if not self.folder:
            return
        # Groups that the measured program made inside go first. A process may still be on its way out.
        for _ in range(20):
            for folder, _, _ in os.walk(self.folder, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            if not self.folder.exists():
                return
            time.sleep(0.05)
