"""Process 1 of a cluster: brings the parts up in order, then answers orders until it is killed."""

import json
import os
import socket
import time

from . import control_plane, dns, images, kwok, namespaces, net, nodes
from .api import Api
from .pki import Pki
from .programs import Failed, Programs


def run(options, folder, name, listener):
    cluster = Inside(options, folder, name)
    try:
        cluster.bring_up(listener)
        cluster.tell("ready")
    except Exception as error:  # whatever it was, the owner wants to read it
        cluster.tell("failed", f"{type(error).__name__}: {error}")
    cluster.answer_orders()


class Inside:
    def __init__(self, options, folder, name):
        self._options = options
        self._folder = folder
        self._name = name
        self._start = time.monotonic()
        self._seconds = {}  # step -> when it was done
        self.programs = Programs(os.path.join(folder, "log"))
        self.pki = Pki(os.path.join(folder, "pki"))
        self.nodes = []

    def bring_up(self, listener):
        options, ports = self._options, self._options["ports"]
        # 1. Namespaces: what is mounted or plugged from here on is seen by nobody else.
        self._leave(listener)
        # 2. Keys.
        count = options["real_nodes"]
        named = {f"real-{n}": net.node_address(n) for n in range(1, count + 1)}
        self.pki.make(["127.0.0.1", control_plane.CONTROL, control_plane.API_SERVICE], named)
        config = self.pki.kubeconfig(os.path.join(self._folder, "kubeconfig"), "admin",
                                     f"https://127.0.0.1:{ports['api']}")
        api = Api(ports["api"], self.pki.path("ca.crt"))
        self._done("keys")
        # 3. The control plane; containerd starts beside it, since both mostly wait.
        plane = control_plane.ControlPlane(self.programs, self.pki, self._folder, ports, options)
        plane.start_store()
        self._make_nodes(count)
        plane.start_api_server(api)
        plane.start_controllers()
        if count:
            net.start_forwarding(self.programs, listener.fileno(), ports["api"])
            dns.start(self.programs, self._folder, config, options["version"])
        plane.await_controllers(api)
        self._done("control plane")
        # 4. The nodes.
        self._start_nodes(api, config)

    def _leave(self, listener):
        if not self._options["is_root"]:
            listener.close()
            return
        namespaces.unshare(namespaces.NEW_MOUNTS)
        namespaces.mount("proc", "/proc", "proc")  # pids as they are counted in here
        if self._options["real_nodes"]:
            namespaces.unshare(namespaces.NEW_NETWORK)
            net.make_hub()
        else:
            listener.close()

    def _make_nodes(self, count):
        for index in range(1, count + 1):
            node = nodes.Node(index, self.programs, self.pki, self._options, self._folder, self._name)
            self.nodes.append(node)
            node.make(count)
            node.start_containerd()

    def _start_nodes(self, api, config):
        if self.nodes:
            stock = [images.pause(self._folder), images.busybox(self._folder)]
            for node in self.nodes:
                node.load_images([*stock, *self._options["images"]])
                node.start_kubelet()
            for node in self.nodes:
                self.programs.until(f"kubelet-{node.name}", lambda: node.name in api.ready_nodes("real-"))  # noqa: B023
            dns.await_ready(self.programs)
            self._done("real nodes")
        if self._options["fake_nodes"]:
            kwok.start(self.programs, self.pki, self._folder, config, self._options)
            kwok.add_nodes(api, self._options["fake_nodes"])
            self._done("fake nodes")

    def _done(self, step):
        self._seconds[step] = round(time.monotonic() - self._start, 2)

    # What others learn ------------------------------------------------------------------------

    def tell(self, phase, error=None):
        """One file, replaced whole: owners poll it."""
        state = {"name": self._name, "phase": phase, "error": error, "seconds": self._seconds,
                 "version": self._options["version"], "port": self._options["ports"]["api"],
                 "real_nodes": [node.name for node in self.nodes], "fake_nodes": self._options["fake_nodes"]}
        part = os.path.join(self._folder, "state.json.part")
        with open(part, "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.rename(part, os.path.join(self._folder, "state.json"))

    def answer_orders(self):
        """One order a connection, as a line of JSON; between them the dead are buried."""
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(os.path.join(self._folder, "orders.sock"))
            door.listen()
            door.settimeout(0.2)
            while True:
                self.programs.reap()
                try:
                    caller, _ = door.accept()
                except TimeoutError:
                    continue
                with caller, caller.makefile("rw", encoding="utf-8") as line:
                    answer_one(self, line)


def answer_one(cluster, line):
    try:
        order = json.loads(line.readline())
        answer = {"answer": ORDERS[order["do"]](cluster, order)}
    except (Failed, TimeoutError, OSError, ValueError, LookupError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    try:
        line.write(json.dumps(answer) + "\n")
        line.flush()
    except OSError:
        pass  # nobody waits for it any more


def node_of(cluster, order):
    return next(node for node in cluster.nodes if node.name == order["node"])


ORDERS = {
    "programs": lambda cluster, order: cluster.programs.report(),
    "end": lambda cluster, order: cluster.programs.end(order["program"], order.get("signal", 9)),
    "start": lambda cluster, order: cluster.programs.restart(order["program"]),
    "cut": lambda cluster, order: net.cut(node_of(cluster, order).index, True),
    "mend": lambda cluster, order: net.cut(node_of(cluster, order).index, False),
    "close port": lambda cluster, order: node_of(cluster, order).filter_port(order["port"], True),
    "open port": lambda cluster, order: node_of(cluster, order).filter_port(order["port"], False),
    "power off": lambda cluster, order: node_of(cluster, order).power_off(),
    "power on": lambda cluster, order: node_of(cluster, order).power_on(),
}
