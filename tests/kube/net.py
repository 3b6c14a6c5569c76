"""The network of a cluster with real nodes. None of it is the machine's own: the control plane and
each node are in network namespaces that have no name and go with the last process in them.

    control plane  10.200.0.1 on a bridge     node N  10.200.0.(10+N), its pods 10.201.N.0/24
"""

import os
import random
import socket
import sys

from . import versions
from .control_plane import API_SERVICE, CONTROL
from .namespaces import enter
from .programs import tool

# Below the ports that the kernel hands to outgoing connections, so that none of those takes ours.
FIRST_PORT, LAST_PORT = 20000, 32000


def node_address(index):
    return f"10.200.0.{10 + index}"


def pod_range(index):
    return f"10.201.{index}.0/24"


def free_ports(names):
    """A port of the loopback for each name, and the sockets that hold them until they are closed."""
    found, held = {}, []
    for name in names:
        while name not in found:
            candidate = socket.socket()
            try:
                candidate.bind(("127.0.0.1", random.randint(FIRST_PORT, LAST_PORT)))
            except OSError:
                candidate.close()
                continue
            found[name] = candidate.getsockname()[1]
            held.append(candidate)
    return found, held


def make_hub():
    """In the namespace this process has just entered: the bridge that the nodes hang on."""
    tool("ip", "-batch", "-", text=f"""
link set lo up
link add br0 type bridge
addr add {CONTROL}/24 dev br0
addr add {API_SERVICE}/32 dev br0
link set br0 up
""")
    forward_packets()


def forward_packets(pid=None):
    command = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
    tool(*(enter(pid, *command) if pid else command))


def join(index, pid, count):
    """Ties the node whose network `pid` holds to the hub, and teaches both where its pods are."""
    tool("ip", "-batch", "-", text=f"""
link add port{index} type veth peer name eth0 netns {pid}
link set port{index} master br0 up
route add {pod_range(index)} via {node_address(index)} dev br0 onlink
""")
    others = "".join(f"route add {pod_range(other)} via {node_address(other)}\n"
                     for other in range(1, count + 1) if other != index)
    tool(*enter(pid, "ip", "-batch", "-"), text=f"""
link set lo up
addr add {node_address(index)}/24 dev eth0
link set eth0 up
route add default via {CONTROL}
{others}""")
    forward_packets(pid)


def cut(index, is_cut):
    """Takes a node off the network, or puts it back."""
    tool("ip", "link", "set", f"port{index}", "down" if is_cut else "up")


def start_forwarding(programs, listener, port):
    """The API server's port on the machine's loopback, and its usual address for pods."""
    target = f"127.0.0.1:{port}"
    script = os.path.join(versions.HERE, "forward.py")
    programs.start("forward", [sys.executable, script, f"{listener}={target}", f"{API_SERVICE}:443={target}"],
                   pass_fds=(listener,))
