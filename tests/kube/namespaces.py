"""The kernel calls that Python 3.11 does not have yet: leaving namespaces, private mounts."""

import ctypes
import os

from .programs import LIBC

NEW_MOUNTS = 0x00020000
NEW_NETWORK = 0x40000000
NEW_PIDS = 0x20000000
PRIVATE_BELOW = (1 << 18) | (1 << 14)  # MS_PRIVATE | MS_REC


def unshare(flags):
    check(LIBC.unshare(flags), "unshare")
    if flags & NEW_MOUNTS:
        mount("none", "/", None, PRIVATE_BELOW)


def mount(source, target, kind, flags=0):
    check(LIBC.mount(source.encode(), target.encode(), kind.encode() if kind else None,
                     ctypes.c_ulong(flags), None), f"mount on {target}")


def check(code, what):
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter(pid, *argv):
    """The command, in the network and mounts of the process. (`ip netns exec` would hide cgroups.)"""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", f"--mount=/proc/{pid}/ns/mnt", "--", *argv]
