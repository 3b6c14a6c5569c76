"""Control groups for real nodes: one tree per cluster, named after its keeper, in every hierarchy.

They are all that the kernel does not remove by itself when the processes of a cluster are gone.
"""

import os
import time

ROOT = "/sys/fs/cgroup"
CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "io", "hugetlb")


def hierarchies():
    """(mount point, file system) of each; version 1 has many, version 2 one."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, right = line.split(" - ")
            point, kind = left.split()[4], right.split()[0]
            if kind in ("cgroup", "cgroup2") and (point + "/").startswith(ROOT + "/"):
                found.append((point, kind))
    return found


def is_version_2():
    return (ROOT, "cgroup2") in hierarchies()


def make(name):
    """The group `name` (a path of two parts) in each hierarchy that containers use."""
    for point, kind in hierarchies():
        if kind == "cgroup2" and point != ROOT:
            continue  # beside version 1 it holds no controllers; runc makes what it needs
        at = point
        for part in name.split("/"):
            parent, at = at, os.path.join(at, part)
            if kind == "cgroup2":
                hand_down(parent)
            os.makedirs(at, exist_ok=True)
            inherit_cpus(parent, at)
        if kind == "cgroup2":
            hand_down(at)


def inherit_cpus(parent, child):
    """A new group of cpuset, version 1, has neither processors nor memory until it is told."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        source, target = os.path.join(parent, name), os.path.join(child, name)
        if os.path.exists(source) and not os.path.exists(os.path.join(ROOT, "cgroup.controllers")):
            with open(source, encoding="ascii") as file, open(target, "w", encoding="ascii") as out:
                out.write(file.read())


def hand_down(group):
    for controller in CONTROLLERS:
        try:
            with open(os.path.join(group, "cgroup.subtree_control"), "w", encoding="ascii") as file:
                file.write(f"+{controller}")
        except OSError:
            pass  # the machine does not have it, or keeps it


def present(prefix):
    """Paths of all groups whose names begin so."""
    return sorted(os.path.join(point, name) for point, _ in hierarchies()
                  for name in os.listdir(point) if name.startswith(prefix))


def processes(name):
    """Pids of everything in the group `name` and below."""
    found = set()
    for point, _ in hierarchies():
        for folder, _, _ in os.walk(os.path.join(point, name)):
            try:
                with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                    found.update(map(int, file.read().split()))
            except OSError:
                pass  # it has just gone
    return found


def remove(name, seconds=20):
    """Removes the trees of a cluster whose processes are gone or about to be."""
    deadline = time.monotonic() + seconds
    left = [path for path in present(name) if not remove_tree(path)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [path for path in left if not remove_tree(path)]
    return left


def remove_tree(path):
    for folder, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:  # a process of it is still on its way out
            return False
    return True
