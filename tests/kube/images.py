"""Container images without a container engine: an OCI layout in a tar, one plain layer, our own words.

Programs in images are named by `muster.test/NAME:1`; pods say `imagePullPolicy: Never`.
"""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile

PAUSE = "muster.test/pause:1"
BUSYBOX = "muster.test/busybox:1"
MUSTER = "muster.test/muster:1"
FOLDERS = {"bin": 0o755, "etc": 0o755, "tmp": 0o1777, "proc": 0o755, "sys": 0o755, "dev": 0o755}
KIND = "application/vnd.oci.image."


class Layer:
    """The file system of an image. The same content gives the same bytes."""

    def __init__(self):
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)
        for name, mode in FOLDERS.items():
            self._add(name, tarfile.DIRTYPE, mode)

    def folder(self, path):
        self._add(path, tarfile.DIRTYPE, 0o755)
        return self

    def file(self, path, content, mode=0o644):
        self._add(path, tarfile.REGTYPE, mode, content)
        return self

    def program(self, path, source):
        with open(source, "rb") as file:
            return self.file(path, file.read(), 0o755)

    def tree(self, folder):
        """All of a folder, in an order that does not depend on the machine."""
        for at, folders, files in sorted(os.walk(folder)):
            inner = os.path.relpath(at, folder)
            for name in sorted(folders + files):
                source, path = os.path.join(at, name), os.path.normpath(os.path.join(inner, name))
                if os.path.islink(source):
                    self.link(path, os.readlink(source))
                elif os.path.isdir(source):
                    self.folder(path)
                else:
                    with open(source, "rb") as file:
                        self.file(path, file.read(), os.stat(source).st_mode & 0o777)
        return self

    def link(self, path, target):
        self._add(path, tarfile.SYMTYPE, 0o777, target=target)
        return self

    def bytes(self):
        self._tar.close()
        return self._bytes.getvalue()

    def _add(self, path, kind, mode, content=b"", target=""):
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(content), target
        self._tar.addfile(entry, io.BytesIO(content))


def write(target, name, layer, entrypoint=(), command=(), path="/bin"):
    """Writes the image to a tar that `ctr images import` takes; returns the tar's path."""
    body = layer.bytes()
    settings = {"Env": [f"PATH={path}"], "Entrypoint": list(entrypoint), "Cmd": list(command)}
    config = encode({"architecture": architecture(), "os": "linux", "config": settings,
                     "rootfs": {"type": "layers", "diff_ids": [digest(body)]}})
    manifest = encode({"schemaVersion": 2, "mediaType": KIND + "manifest.v1+json",
                       "config": describe(KIND + "config.v1+json", config),
                       "layers": [describe(KIND + "layer.v1.tar", body)]})
    entry = describe(KIND + "manifest.v1+json", manifest)
    entry["annotations"] = {"io.containerd.image.name": name,
                            "org.opencontainers.image.ref.name": name.rsplit(":", 1)[1]}
    parts = {"oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
             "index.json": encode({"schemaVersion": 2, "manifests": [entry]})}
    parts.update({"blobs/sha256/" + digest(blob)[7:]: blob for blob in (body, config, manifest)})
    with tarfile.open(target, "w") as out:
        for part, content in parts.items():
            entry = tarfile.TarInfo(part)
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content))
    return target


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def describe(kind, content):
    return {"mediaType": kind, "digest": digest(content), "size": len(content)}


def encode(value):
    return json.dumps(value).encode()


def architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


# The images of the suite ----------------------------------------------------------------------

def busybox_layer():
    """A shell and the small tools, from the machine's own static busybox."""
    source = shutil.which("busybox")
    layer = Layer().program("bin/busybox", source).file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
    applets = subprocess.run([source, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            layer.link("bin/" + applet, "busybox")
    return layer


def busybox(folder):
    return write(os.path.join(folder, "busybox.tar"), BUSYBOX, busybox_layer(), command=["sh"])


def pause(folder):
    """What holds a pod's namespaces. It need only live: containerd ends it with KILL."""
    layer = Layer().program("bin/busybox", shutil.which("busybox"))
    return write(os.path.join(folder, "pause.tar"), PAUSE, layer, ["/bin/busybox", "tail", "-f", "/dev/null"])


def muster(folder, binary):
    """Nothing but the static binary: what it needs beyond itself, it must not."""
    return write(os.path.join(folder, "muster.tar"), MUSTER, Layer().program("bin/muster", binary), ["/bin/muster"])
