"""The door to a test cluster:

    with Cluster(real_nodes=2, fake_nodes=200) as cluster:
        space = cluster.namespace("ring")
        cluster.kubectl("-n", space, "apply", "-f", "-", input=manifest)

It ends with the block, and also when the process that holds it is killed.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

from . import build, kwok, nodes, requirements, sweep, versions
from .api import Api
from .programs import wait_for

PATIENCE = 180  # seconds for a cluster to come up on a busy machine


class NotUp(Exception):
    """The cluster did not come up; the text says which part and why."""


class Cluster:
    """`images`: tars to load on every real node. `gates`, `runtime_config`: as Kubernetes spells them."""

    def __init__(self, real_nodes=0, fake_nodes=0, images=(), version=None, gates="", runtime_config=""):
        self._options = {"real_nodes": real_nodes, "fake_nodes": fake_nodes, "images": list(images),
                         "version": version or versions.chosen(), "gates": gates, "runtime_config": runtime_config,
                         "is_root": requirements.is_root(), "is_held": True}
        self._keeper = None
        self.name = None
        self.api = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self, is_held=True):
        """`is_held`: the cluster ends when this process does."""
        version = self._options["version"]
        reasons = requirements.for_control_plane(version)
        if self._options["real_nodes"]:
            reasons += requirements.for_real_nodes()
        if reasons:
            raise NotUp("; ".join(reasons))
        build.build(version)
        sweep.clean_dead()
        self._options["is_held"] = is_held
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.keeper", json.dumps(self._options)],
            stdin=subprocess.PIPE if is_held else subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=os.path.dirname(versions.HERE)), start_new_session=True)
        self.name = self._keeper.stdout.readline().decode().strip()
        self._keeper.stdout.close()
        try:
            self._await_up()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Returns when nothing of it is left."""
        if self._keeper is None:
            return
        if self.api:
            self.api.close()
        if self._keeper.stdin:
            self._keeper.stdin.close()
        end(self.name)
        self._keeper.wait(timeout=60)
        self._keeper = None

    def _await_up(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            state = read_json(self.name, "state.json")
            if state and state["phase"] == "ready":
                self.state = state
                self.api = Api(state["port"], self.file("pki/ca.crt"))
                return
            if state:
                raise NotUp(state["error"])
            if self._keeper.poll() is not None:
                raise NotUp(f"the keeper ended with {self._keeper.returncode}")
            if time.monotonic() > deadline:
                raise NotUp(f"not up after {PATIENCE} s; its logs so far:\n{self._log_ends()}")
            time.sleep(0.02)

    def _log_ends(self):
        text = ""
        for entry in sorted(os.scandir(self.file("log")), key=lambda entry: entry.name):
            with open(entry.path, encoding="utf-8", errors="replace") as file:
                text += f"== {entry.name}\n" + "".join(file.readlines()[-5:])
        return text

    # Using it ---------------------------------------------------------------------------------

    def file(self, name):
        return os.path.join(sweep.state_root(), self.name, name)

    @property
    def kubeconfig(self):
        return self.file("kubeconfig")

    @property
    def seconds(self):
        """Step -> seconds after the start at which it was done."""
        return self.state["seconds"]

    def kubectl(self, *args, input=None, is_checked=True):
        """What kubectl prints."""
        program = versions.program("kubectl", self._options["version"])
        done = subprocess.run([program, "--kubeconfig", self.kubeconfig, *args], input=input,
                              capture_output=True, text=True, timeout=300)
        if is_checked and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def namespace(self, name):
        """A namespace for one test, ready for pods."""
        self.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_for(f"namespace {name}", lambda: self.api.answers(account), 60)
        return name

    def add_fake_nodes(self, count, first, size=None):
        kwok.add_nodes(self.api, count, first, size)

    def load_image(self, archive):
        """Loads a tar of images.write on every real node."""
        for node in self.state["real_nodes"]:
            subprocess.run(["ctr", "-a", nodes.socket_of(self.file(node)), "-n", "k8s.io", "images", "import", archive],
                           check=True, capture_output=True, timeout=120)

    def inside(self, *argv):
        """The command, in the network of the control plane: for what pods must reach at 10.200.0.1."""
        return ["nsenter", f"--net=/proc/{self.pids()['first']}/ns/net", "--", *argv]

    def pids(self):
        """Of the keeper and of process 1."""
        return read_json(self.name, "pids.json")

    # Breaking it ------------------------------------------------------------------------------

    def programs(self):
        """name -> {"pid": as process 1 counts} or {"exit": code}"""
        return ask(self.name, "programs")

    def end_program(self, name, number=signal.SIGKILL):
        ask(self.name, "end", program=name, signal=int(number))

    def start_program(self, name):
        ask(self.name, "start", program=name)

    def cut(self, node):
        """Takes a real node off the network; `mend` puts it back."""
        ask(self.name, "cut", node=node)

    def mend(self, node):
        ask(self.name, "mend", node=node)

    def close_port(self, node, port):
        """Pods of a real node neither reach this port elsewhere nor are they reached at it."""
        ask(self.name, "close port", node=node, port=port)

    def open_port(self, node, port):
        ask(self.name, "open port", node=node, port=port)

    def power_off(self, node):
        """Kills everything on a real node at once."""
        ask(self.name, "power off", node=node)

    def power_on(self, node):
        ask(self.name, "power on", node=node)


def read_json(name, file):
    try:
        with open(os.path.join(sweep.state_root(), name, file), encoding="utf-8") as opened:
            return json.load(opened)
    except (OSError, ValueError):
        return None


def ask(name, what, **details):
    """An order to process 1 of the cluster, and its answer."""
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(120)
        door.connect(os.path.join(sweep.state_root(), name, "orders.sock"))
        with door.makefile("rw", encoding="utf-8") as line:
            line.write(json.dumps({"do": what, **details}) + "\n")
            line.flush()
            said = json.loads(line.readline())
    if "error" in said:
        raise RuntimeError(said["error"])
    return said["answer"]


def end(name, seconds=60):
    """Ends a cluster by name; the broom removes its folder last."""
    keeper = sweep.keeper_of(name)
    if keeper is None:
        sweep.clean(name)
        return
    os.kill(keeper, signal.SIGTERM)
    wait_for(f"the end of {name}", lambda: name not in sweep.names(), seconds)
