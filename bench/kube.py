#!/usr/bin/env python3
"""Measures muster on Kubernetes beside kubectl, all in one run, on a test cluster of its own.

usage: bench/kube.py [--quick] [--only PART[,PART]] [--build DIR] [--no-write]

Needs `muster` and `kube_probe` in the build tree and the programs of the test cluster (./dev kube build).
Prints a table and replaces the part "# Kubernetes" of bench/RESULTS.md, unless --quick, --only or
--no-write is given. Nodes are fake, so no image and no container is paid for.
"""
import argparse
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
HEADING = "# Kubernetes"
sys.path.insert(0, str(ROOT / "tests"))
from kube import manifests, versions  # noqa: E402
from kube.api import Api  # noqa: E402
from kube.audit import Audit  # noqa: E402
from kube.cluster import Cluster  # noqa: E402

HOLD = [{"name": "muster.test/hold"}]  # the scheduler leaves such a pod alone


class Table:
    def __init__(self):
        self.rows = []

    def line(self, what, value, unit, beside=""):
        self.rows.append((what, value, unit, beside))
        print(f"  {what:<66} {value:>8} {unit:<4} {beside}", flush=True)


class Births(Audit):
    """When the first pod of each Job was seen to be there."""

    def __init__(self, cluster, space):
        self.at = {}
        self._news = threading.Condition()
        super().__init__(cluster, space)

    def _note(self, kind, type_, meta):
        now = time.monotonic()
        super()._note(kind, type_, meta)
        if kind == "pod" and type_ != "DELETED":
            labels = meta["labels"]
            with self._news:
                for name in (labels["batch.kubernetes.io/job-name"], labels.get("muster.dev/name")):
                    self.at.setdefault(name, now)
                self._news.notify_all()

    def wait(self, name, seconds=60):
        with self._news:
            if not self._news.wait_for(lambda: name in self.at, seconds):
                sys.exit(f"bench: no pod of {name} within {seconds} s")
            return self.at[name]


class World:
    def __init__(self, options, cluster, stack):
        self.cluster, self.quick = cluster, options.quick
        self.muster, self.probe = str(options.build / "muster"), str(options.build / "tests" / "kube_probe")
        self.base = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-bench-")))
        self.dir = self.base / "dir"
        self.dir.mkdir()
        (self.dir / "train.py").write_text("print('hello')\n")
        stack.callback(lambda: self.run("serve", "--stop", is_checked=False))

    def home(self, name, config):
        home = self.base / name
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(config)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.base), "MUSTER_HOME": str(home), "LANG": "C.UTF-8"}

    def run(self, *words, is_checked=True, **more):
        done = subprocess.run([self.muster, *words], env=self.env, cwd=self.dir, capture_output=True, text=True, **more)
        if is_checked and done.returncode != 0:
            sys.exit(f"bench: muster {' '.join(words)}: {done.stderr}")
        return done.stdout

    def kubectl(self, space, *words, **more):
        return self.cluster.kubectl("-n", space, *words, **more)


def lab(cluster, space):
    selector = ", ".join(f"{key}: {value}" for key, value in manifests.FAKE.items())
    return (f"default: lab\nclusters:\n  lab:\n    kind: kube\n    kubeconfig: {cluster.kubeconfig}\n    namespace: {space}\n"
            f"    image: muster.test/none:1\n    node_selector: {{{selector}}}\n")


def seconds(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def middle(values):
    return f"{1000 * statistics.median(values):.0f}"


def renamed(text, name):
    """The documents of a dry run under another name, one kubectl can create."""
    return text.replace("m-00000000-0000-1", name)


def submit(world, table):
    """From before the client is started until the pod is seen to be there, in turns."""
    space, rounds = world.cluster.namespace("submit"), 5 if world.quick else 25
    world.home("submit", lab(world.cluster, space))
    births = Births(world.cluster, space)
    words = ("--cpus", "1", "python", "train.py")
    documents = json.loads(world.run("submit", "--dry-run", "--show-secrets", "-o", "json", *words))
    whole = json.dumps(documents)
    job = json.dumps(next(item for item in documents["items"] if item["kind"] == "Job"))
    world.run("query")  # the server is up, and has listed what is there
    took = {"kubectl create, the Job alone": [], "kubectl create, Secrets, Service and Job": [], "muster submit": []}
    for number in range(rounds + 1):
        for what, times in took.items():
            name = f"m-{number:08x}-{what.count('S')}000-1"
            began = time.monotonic()
            if what == "muster submit":
                name = f"run-500ms-exit-0-n-{number}"
                world.run("submit", "-q", "--name", name, *words)
            else:
                world.kubectl(space, "create", "-f", "-", input=renamed(whole if "Service" in what else job, name))
            if number:  # the first of each is for warming up
                times.append(births.wait(name) - began)
    births.stop()
    ours, base = took.pop("muster submit"), None
    for what, times in took.items():
        base = base or statistics.median(times)
        table.line(f"to the pod's creation: {what}", middle(times), "ms", f"{rounds} in turns")
    table.line("  muster submit", middle(ours), "ms", f"{statistics.median(ours) / base:.2f} x kubectl create of the Job alone")
    # The pods of kubectl's copies keep muster's finalizer, which nobody takes off.
    world.run("serve", "--stop", is_checked=False)


def many_pods(world, space, count):
    """Pods like muster's, made by several connections at once."""
    world.home("render", lab(world.cluster, space))
    documents = json.loads(world.run("submit", "--dry-run", "-o", "json", "--cpus", "1", "python", "train.py"))
    template = next(item for item in documents["items"] if item["kind"] == "Job")["spec"]["template"]
    template["spec"] |= {"schedulingGates": HOLD, "subdomain": "many"}
    template["metadata"].pop("finalizers", None)

    def make(lane):
        api = Api(world.cluster.state["port"], world.cluster.file("pki/ca.crt"))
        for number in range(lane, count, 4):
            meta = template["metadata"] | {"name": f"m-{number:08x}-0000-1-0-abcde"}
            meta["labels"] = meta["labels"] | {"batch.kubernetes.io/job-name": f"m-{number:08x}-0000-1"}
            meta["annotations"] = meta["annotations"] | {"batch.kubernetes.io/job-completion-index": "0"}
            api.post(f"/api/v1/namespaces/{space}/pods", {"metadata": meta, "spec": template["spec"]})
        api.close()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))


def relist(world, table):
    """Everything there is, as a watch begins: by a streamed list, by pages, and by kubectl."""
    count = 500 if world.quick else 10_000
    space = world.cluster.namespace("relist")
    many_pods(world, space, count)
    rounds = 3
    kubectl = [seconds(lambda: world.kubectl(space, "get", "pods", "-o", "name")) for _ in range(rounds)]
    table.line(f"{count} pods: kubectl get -o name", middle(kubectl), "ms", f"{rounds} times")
    api = Api(world.cluster.state["port"], world.cluster.file("pki/ca.crt"))
    path = f"/api/v1/namespaces/{space}/pods"
    floor = [seconds(lambda: api.drain(path)) for _ in range(rounds)]
    table.line("  the bytes alone, read and thrown away", middle(floor), "ms", f"{api.drain(path) / 2**20:.0f} MiB in one answer")
    api.close()
    for what, mode in (("a streamed list", ""), ("a list in pages", "list")):
        runs = [until_synced(world, space, mode, count) for _ in range(rounds)]
        table.line(f"  muster's client, {what}", middle([run[0] for run in runs]), "ms",
                   f"{max(run[1] for run in runs):.0f} MiB of memory; "
                   f"{statistics.median(run[0] for run in runs) / statistics.median(kubectl):.2f} x kubectl")


def until_synced(world, space, mode, count):
    """Seconds from before the start until the whole list is there; MiB that it took at most."""
    began = time.monotonic()
    with subprocess.Popen([world.probe, world.cluster.kubeconfig, space, "watch", "pods.v1", "muster.dev/job", mode],
                          stdout=subprocess.PIPE, text=True) as child:
        seen = 0
        for line in child.stdout:
            seen += line.startswith("+")
            if line == "synced\n" or line.startswith("!"):
                break
        if seen != count:
            child.kill()
            sys.exit(f"bench: the watch told of {seen} pods, then {line}")
        took = time.monotonic() - began
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        child.kill()
        child.stdout.read()
    return took, next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def query(world, table):
    """From the local store: jobs that wait behind one that holds the only cpu."""
    count = 500 if world.quick else 10_000
    world.home("query", "clusters:\n  local:\n    nodes:\n      - {name: v, cpus: 1, memory: 1G}\n")
    blocker = world.run("submit", "--here", "-q", "-o", "name", "--cpus", "1", "sleep", "100000").strip()
    lines = "\n".join(json.dumps({"command": ["true"], "name": f"job-{number}"}) for number in range(count - 1))
    world.run("submit", "--here", "-q", "-o", "name", "--from", "-", input=lines)
    rounds = 9
    for what, words in (("query", ()), ("query --all", ("--all",)), ("query --all -o json", ("--all", "-o", "json"))):
        runs = [seconds(lambda: world.run("query", *words)) for _ in range(rounds)]
        lines = len(world.run("query", *words).splitlines())
        table.line(f"{what} of {count} queued jobs", middle(runs), "ms", f"{rounds} times; {lines} lines")
    world.run("abort", "--all")
    world.run("wait", blocker, is_checked=False)
    world.run("serve", "--stop", is_checked=False)


PARTS = {"submit": submit, "relist": relist, "query": query}


def facts():
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return [("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
            ("commit", git("rev-parse", "--short", "HEAD") + (" (with changes)" if git("status", "--porcelain", "src") else "")),
            ("command", "bench/kube.py"),
            ("Kubernetes", versions.chosen()),
            ("load before", " ".join(f"{value:.2f}" for value in os.getloadavg())),
            ("machine", f"{os.cpu_count()} CPUs, Linux {os.uname().release}")]


def write_results(head, rows):
    file = BENCH / "RESULTS.md"
    kept = file.read_text().split(f"\n{HEADING}\n")[0].rstrip() if file.exists() else "# Results"
    lines = [kept, "", HEADING, "", "Written by `bench/kube.py`: middle of several runs, on fake nodes.", ""]
    lines += ["| of this run | |", "|---|---|"] + [f"| {name} | {value} |" for name, value in head] + [""]
    lines += ["| what | value | unit | beside |", "|---|---:|---|---|"]
    lines += [f"| {what} | {value} | {unit} | {beside} |" for what, value, unit, beside in rows]
    file.write_text("\n".join(lines) + "\n")


def main(argv):
    parser = argparse.ArgumentParser(description="measure muster on Kubernetes beside kubectl, in one run")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sizes; writes nothing")
    parser.add_argument("--only", help=f"some of: {','.join(PARTS)}; writes nothing")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build tree (build)")
    parser.add_argument("--no-write", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args(argv)
    options.build = options.build.resolve()
    for file in ("muster", "tests/kube_probe"):
        if not (options.build / file).exists():
            parser.error(f"{options.build / file} is missing: ninja -C build muster kube_probe")
    head, table = facts(), Table()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster(fake_nodes=10))
        for part in options.only.split(",") if options.only else PARTS:
            print(f"{part}:", flush=True)
            PARTS[part](World(options, cluster, stack), table)
    head.append(("load after", " ".join(f"{value:.2f}" for value in os.getloadavg())))
    if not (options.quick or options.only or options.no_write):
        write_results(head, table.rows)
        print("written: bench/RESULTS.md")


if __name__ == "__main__":
    main(sys.argv[1:])
