"""Builds the programs of the test cluster, once, into a cache outside the tree."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import time

from . import go, versions

# kwok replaces its own stages by ours, so we hand it the three that make a node a node.
STOCK_STAGES = ("node/fast/node-initialize.yaml",
                "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml", "pod/fast/pod-ready.yaml")


class Broken(Exception):
    """A build failed; the text says which and why."""


def stock_stages_file():
    return os.path.join(versions.KWOK.cache, "stages.yaml")


def wanted(version):
    """Every file the cluster needs from the cache."""
    programs = [versions.program(name, version)
                for module in versions.modules(version) for name in module.programs]
    return [*programs, stock_stages_file()]


def missing(version):
    return [path for path in wanted(version) if not os.path.exists(path)]


def build(version, say=print):
    """Builds what is missing. Two at once do not build the same thing twice."""
    if not missing(version):
        return
    with only_one_builder(say):
        tool = go.find_or_fetch(say)
        say(f"building the programs of Kubernetes {version}: about 12 minutes cold on two cores, once")
        for module in versions.modules(version):
            build_programs(tool, module, say)
        copy_stages(tool)


@contextlib.contextmanager
def only_one_builder(say):
    os.makedirs(versions.cache_root(), exist_ok=True)
    with open(os.path.join(versions.cache_root(), "lock"), "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_programs(tool, module, say):
    """All of a module's at once: while one is linked, the others are compiled."""
    target = os.path.join(module.cache, "bin")
    names = [name for name in module.programs if not os.path.exists(os.path.join(target, name))]
    if not names:
        return
    part = os.path.join(module.cache, "part")  # a build that is cut short leaves nothing that looks whole
    for folder in (target, part):
        os.makedirs(folder, exist_ok=True)
    start = time.monotonic()
    # Go names a program after its package; one alone is named by us.
    out = os.path.join(part, names[0]) if len(names) == 1 else part + os.sep
    run(tool, module, "build", "-trimpath", "-ldflags", f"-s -w {module.flags}", "-o", out,
        *(module.programs[name] for name in names))
    for name in names:
        os.rename(os.path.join(part, name), os.path.join(target, name))
    os.rmdir(part)
    say(f"built {', '.join(names)} {module.version} in {time.monotonic() - start:.0f} s")


def run(tool, module, *args, env=None):
    done = subprocess.run([tool, *args], cwd=module.folder, env=env or go.environment(),
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"go {args[0]} of {module.path} {module.version} failed:\n{done.stderr.strip()[-3000:]}")
    return done.stdout


def copy_stages(tool):
    """The stock stages lie in kwok's module: kept beside the program, so that runs need no Go."""
    source = run(tool, versions.KWOK, "list", "-m", "-f", "{{.Dir}}", versions.KWOK.path).strip()
    target = stock_stages_file()
    with open(target + ".part", "w", encoding="utf-8") as out:
        for stage in STOCK_STAGES:
            with open(os.path.join(source, "kustomize", "stage", stage), encoding="utf-8") as file:
                out.write("---\n" + file.read() + "\n")
    os.rename(target + ".part", target)


# Pinning: only for people who change versions.py ----------------------------------------------

def pin(say=print):
    """Writes go.mod and go.sum of every module that versions.py names, and drops the others."""
    tool = go.find_or_fetch(say)
    every = [versions.ETCD, versions.KWOK, versions.COREDNS, *map(versions.kubernetes, versions.KUBERNETES)]
    for module in every:
        pin_module(tool, module)
        say(f"pinned {module.path} {module.version}")
    folder = os.path.join(versions.HERE, "modules")
    for name in set(os.listdir(folder)) - {module.name for module in every}:
        shutil.rmtree(os.path.join(folder, name))


def pin_module(tool, module):
    os.makedirs(module.folder, exist_ok=True)
    fetching = dict(go.environment(), GOFLAGS="-mod=mod -buildvcs=false")
    write_mod(module, [])
    if module.path == "k8s.io/kubernetes":
        write_mod(module, staging_names(tool, module, fetching))
    # Resolving every package once makes Go note the checksum of each module it read.
    run(tool, module, "list", "-deps", *module.programs.values(), env=fetching)


def staging_names(tool, module, env):
    """Kubernetes refers to its libraries by folder; outside its repository they are modules."""
    said = json.loads(run(tool, module, "mod", "download", "-json", f"{module.path}@{module.version}", env=env))
    with open(said["GoMod"], encoding="utf-8") as file:
        return re.findall(r"^\s*(k8s\.io/[a-z0-9-]+)(?: v\S+)? => \./staging/", file.read(), re.M)


def write_mod(module, staging):
    lines = [f"module muster.test/{module.name}", "", "go 1.26.0", "", f"require {module.path} {module.version}"]
    if staging:
        version = "v0." + module.version.split(".", 1)[1]
        lines += ["", "replace ("] + [f"\t{name} => {name} {version}" for name in staging] + [")"]
    with open(os.path.join(module.folder, "go.mod"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
