"""What a cluster leaves when it ends: a folder and empty control groups. Removed by name.

A cluster is named after its keeper: the namespace it counts processes in, its pid, its start. So
anybody can tell whether a name is still in use, and nobody takes another's.
"""

import os
import shutil
import tempfile

from . import cgroups

PREFIX = "muster-kube-"


def state_root():
    """Folders of all clusters of this user, private."""
    path = os.environ.get("MUSTER_KUBE_STATE") or os.path.join(tempfile.gettempdir(), f"{PREFIX}{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid != os.getuid():
        raise SystemExit(f"{path} belongs to somebody else; set MUSTER_KUBE_STATE to a folder of yours")
    return path


def name_of(pid):
    start = start_of(pid)
    return None if start is None else f"{PREFIX}{own_space()}-{pid}-{start}"


def own_space():
    return os.stat("/proc/self/ns/pid").st_ino


def start_of(pid):
    """When the process started, in ticks since boot; None when it is not there, or only its shell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def keeper_of(name):
    """The pid of the keeper, or None when it is gone."""
    pid = int(name[len(PREFIX):].split("-")[1])
    return pid if name_of(pid) == name else None


def is_ours(name):
    """Whether the name was given where pids mean what they mean here."""
    parts = name[len(PREFIX):].split("-")
    return name.startswith(PREFIX) and len(parts) == 3 and parts[0] == str(own_space())


def names():
    """Of all clusters that have a folder, or control groups, here."""
    groups = {os.path.basename(path) for path in cgroups.present(PREFIX) if os.access(path, os.W_OK)}
    return sorted(name for name in groups | set(os.listdir(state_root())) if is_ours(name))


def clean(name):
    """Removes what is left of a cluster whose processes are gone."""
    left = cgroups.remove(name)
    shutil.rmtree(os.path.join(state_root(), name), ignore_errors=True)
    return left


def clean_dead():
    """Removes what clusters left whose keeper and broom were both killed."""
    dead = [name for name in names() if keeper_of(name) is None]
    for name in dead:
        clean(name)
    return dead
