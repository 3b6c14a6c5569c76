"""An image with a C library older than any we build with: Debian 11's, from the machine's own mirror.

Programs of ours that go into people's images must run there; this is the oldest Debian that mirrors
still carry.
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from . import images, versions

NAME = "muster.test/debian-11:1"
SUITE = "bullseye"
PACKAGES = ("libc6", "libcrypt1", "busybox")  # a shell that needs the library, and the library


class Unavailable(Exception):
    """The packages cannot be had here; the text says why."""


def image():
    """The path of the image's tar; made once, then cached."""
    target = os.path.join(versions.cache_root(), SUITE, "image.tar")
    if os.path.exists(target):
        return target
    if not shutil.which("apt-get"):
        raise Unavailable("no apt-get here, so no packages of Debian 11")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        for package in download(folder):
            run("dpkg", "-x", package, tree)
        layer = images.Layer().tree(tree)
        for applet in ("sh", "sleep", "cat", "head", "env", "mkdir", "cp"):
            layer.link("bin/" + applet, "busybox")
        images.write(target + ".part", NAME, layer, command=["sh"])
    os.rename(target + ".part", target)
    return target


def download(folder):
    """The packages as files, by an apt that knows only the old suite and writes only to `folder`."""
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        os.makedirs(os.path.join(folder, name))
    sources = os.path.join(folder, "old.sources")
    with open(sources, "w", encoding="utf-8") as file:
        file.write(old_sources())
    options = [f"-oDir::Etc::SourceList={sources}", "-oDir::Etc::SourceParts=/dev/null",
               f"-oDir::State::Lists={folder}/lists", f"-oDir::Cache={folder}/cache",
               "-oDir::State::status=/dev/null", "-oAPT::Sandbox::User=", "-oAcquire::Languages=none"]
    run("apt-get", "-q", *options, "update")
    run("apt-get", "-q", *options, "download", *PACKAGES, cwd=os.path.join(folder, "debs"))
    return sorted(glob.glob(os.path.join(folder, "debs", "*.deb")))


def old_sources():
    """The machine's first archive, asked for the old suite; signatures are checked as always."""
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        with open(path, encoding="utf-8") as file:
            for block in file.read().split("\n\n"):
                if re.search(r"^URIs:.*/debian/?$", block, re.M):
                    return re.sub(r"^Suites:.*$", f"Suites: {SUITE}", block, flags=re.M) + "\n"
    raise Unavailable("no archive of Debian among the machine's package sources")


def run(*argv, cwd=None):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Unavailable(f"{argv[0]} for {SUITE} failed: {done.stderr.strip()[-300:]}")
