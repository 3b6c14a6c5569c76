#!/usr/bin/env python3
"""Measures snapshots beside what else copies, packs or compares trees, all in one run.

usage: bench/snapshot.py [--quick] [--only PART[,PART]] [--build DIR] [--where DIR] [--no-write]

Needs the peers, which ./dev setup bench installs; those that are missing are named and left out.
Needs about 15 GiB in --where (a new folder in /tmp), which it removes at the end: ext4 is slow to make
files while it forgets others. Prints a table and replaces the part "# Snapshots" of bench/RESULTS.md
after each part, unless --quick, --only or --no-write is given. Everything is read once before it is
measured, so that all of them find the files in memory. On a busy machine the CPU figures are worth
more than the times.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
HEADING = "# Snapshots"


class Run:
    """One run of a command: wall and CPU seconds, what it printed."""

    def __init__(self, words, cwd=None, env=None, shell=False):
        out = tempfile.TemporaryFile()
        began = time.monotonic()
        child = subprocess.Popen(words, cwd=cwd, env={**os.environ, **(env or {})}, shell=shell,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - began
        self.cpu = usage.ru_utime + usage.ru_stime
        out.seek(0)
        self.out = out.read().decode(errors="replace")
        self.mib = json.loads(self.out).get("most_kib", 0) / 1024 if self.out.startswith("{") else 0
        if child.returncode != 0:
            sys.exit(f"bench: {words}: status {child.returncode}\n{errors.decode(errors='replace')}")


class Many:
    """The middle of some runs. `before` is done before each and not measured."""

    def __init__(self, times, make, before=lambda: None):
        runs = []
        for _ in range(times):
            before()
            runs.append(make())
        self.wall = statistics.median(run.wall for run in runs)
        self.cpu = statistics.median(run.cpu for run in runs)
        self.last = runs[-1]


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, run, beside="", unit="ms"):
        value = f"{run.wall * 1000:.0f}" if unit == "ms" else f"{run.wall:.2f}"
        self.line(what, value, unit, f"{run.cpu:.2f} s CPU" + (f"; {beside}" if beside else ""))

    def line(self, what, value, unit, beside=""):
        self.rows.append((what, value, unit, beside))
        print(f"  {what:<58} {value:>9} {unit:<5} {beside}", flush=True)


class Text:
    """Text like that of programs, in slices: each is found once, so that nothing is stored twice."""

    def __init__(self, size):
        rng = random.Random(4)
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz_", k=rng.randint(2, 11)))
                 for _ in range(20_000)]
        weights = [1 / (i + 3) for i in range(len(words))]
        marks = [" ", " ", " ", "(", ") ", ", ", " = ", ";\n  ", "\n", "\n    "]
        parts = []
        while size > 0:
            some = [word + mark for word, mark in zip(rng.choices(words, weights, k=200_000),
                                                     rng.choices(marks, k=200_000))]
            parts.append("".join(some).encode())
            size -= len(parts[-1])
        self.bytes, self.rng = b"".join(parts), rng

    def slice(self, mean):
        size = min(1 << 18, int(self.rng.lognormvariate(0, 1) * mean * 0.6) + 20)
        at = self.rng.randrange(len(self.bytes) - size)
        return self.bytes[at:at + size]


def make_tree(top, files, mean, text, per_folder=100):
    total = 0
    for i in range(files):
        folder = top / f"part{i // (per_folder * 20)}" / f"module{i // per_folder}"
        if i % per_folder == 0:
            folder.mkdir(parents=True)
        data = b"// file %d\n" % i + text.slice(mean)
        (folder / f"source_{i}.cpp").write_bytes(data)
        total += len(data)
    return total


def settle():
    """What was written before is not paid for by what is measured next."""
    os.sync()
    time.sleep(1)


def have(name):
    if shutil.which(name):
        return True
    print(f"  {name} is not installed: left out")
    return False


def times(ours, theirs):
    return f"{theirs.wall / ours.wall:.2f} x the speed of"


def git(top, *words):
    return Run(["git", "-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0", *words], cwd=top)


class World:
    def __init__(self, options):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="muster-snap-", dir=options.where))
        self.snap = str(options.build / "bench" / "snap")
        self.quick = options.quick
        self.text = Text((2 << 20) if options.quick else (96 << 20))
        self.env = {"RESTIC_PASSWORD": "bench", "RESTIC_CACHE_DIR": str(self.base / "restic-cache"),
                    "RCLONE_CONFIG": str(self.base / "rclone.conf")}

    def count(self, number):
        return number // 20 if self.quick else number

    def send(self, top, store="store", cache="cache"):
        return Run([self.snap, "send", str(top), f"file://{self.base / store}", str(self.base / cache)])

    def restic(self, top, repo="restic"):
        return Run(["restic", "-q", "-r", str(self.base / repo), "backup", "."], cwd=top, env=self.env)

    def new_restic(self, repo="restic"):
        self.drop(repo, "restic-cache")
        Run(["restic", "-q", "-r", str(self.base / repo), "init"], env=self.env)

    def drop(self, *names):
        subprocess.run(["rm", "-rf", *[str(self.base / name) for name in names]], check=True)


def unchanged_and_edit(world, table):
    files = world.count(200_000)
    top = world.base / "top"
    make_tree(top, files, 2000, world.text)
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "all")
    settle()
    world.send(top)
    git(top, "status")
    walk = Many(5, lambda: Run([world.snap, "walk", str(top)]))
    same = Many(9, lambda: world.send(top))
    status = Many(9, lambda: git(top, "status", "--porcelain"))
    assert json.loads(same.last.out)["is_unchanged"]
    table.add(f"unchanged, {files} files: git status", status)
    table.add("  the walk alone", walk)
    table.add("  snapshot", same, f"{same.wall / status.wall:.2f} x git status (CPU "
              f"{same.cpu / status.cpu:.2f} x); {same.last.mib:.0f} MiB of memory")
    edit(world, table, top)
    world.drop("store", "cache")


def edit(world, table, top):
    victim = top / "part0" / "module3" / "source_321.cpp"
    changes = iter(range(1000))

    def change():
        victim.write_text(f"edited {next(changes)} {time.time()}\n")

    def change_for_zip():  # it knows times by two seconds
        change()
        later = time.time() + 10 * next(changes)
        os.utime(victim, (later, later))

    ours = Many(7, lambda: world.send(top), change)
    said = json.loads(ours.last.out)
    peers = {}
    if have("rclone"):
        sync = ["rclone", "sync", "--exclude", "/.git/**", ".", str(world.base / "rclone")]
        Run(sync, cwd=top, env=world.env)
        peers["rclone sync"] = Many(3, lambda: Run(sync, cwd=top, env=world.env), change)
    if have("zip"):
        pack = ["zip", "-qru", str(world.base / "all.zip"), ".", "-x", "./.git/*"]
        Run(pack, cwd=top)
        peers["zip -u"] = Many(3, lambda: Run(pack, cwd=top), change_for_zip)
    if have("restic"):
        world.new_restic()
        world.restic(top)
        peers["restic backup"] = Many(3, lambda: world.restic(top), change)
    for name, run in peers.items():
        table.add(f"one edit in it: {name}", run)
    best = min(peers, key=lambda name: peers[name].wall) if peers else None
    beside = f"{times(ours, peers[best])} {best}; " if best else ""
    table.add("  snapshot", ours, beside + f"{said['new_chunks']} data chunk, {said['new_leaves']} leaf, "
              f"1 root; {said['stored_bytes']} bytes stored")


def first(world, table):
    size = world.count(1 << 30)
    kinds = {"source-like": lambda top: make_tree(top, size // 8192, 8192, world.text),
             "random": lambda top: make_random(top, size)}
    for kind, make in kinds.items():
        top = world.base / f"first-{kind}"
        total = make(top)
        settle()
        Run(f"tar cf - . | cat > {os.devnull}", cwd=top, shell=True)
        rounds = 3
        ours = Many(rounds, lambda: world.send(top), lambda: (world.drop("store", "cache"), settle()))
        stored = json.loads(ours.last.out)["stored_bytes"]
        packed = world.base / "all.tar.zst"
        tar = Many(rounds, lambda: Run(f"tar cf - . | zstd -q -3 -o {packed} && sync {packed}", cwd=top, shell=True),
                   lambda: (world.drop("all.tar.zst"), settle()))
        label = f"first, {total / (1 << 30):.2f} GiB {kind}"
        table.add(f"{label}: tar | zstd -3, synced", tar, f"{packed.stat().st_size >> 20} MiB", "s")
        beside = f"{times(ours, tar)} tar | zstd (CPU {ours.cpu / tar.cpu:.2f} x)"
        if have("restic"):
            restic = Many(rounds - 1, lambda: world.restic(top), lambda: (world.new_restic(), settle()))
            table.add(f"{label}: restic backup", restic, "", "s")
            beside += f", {times(ours, restic)} restic (CPU {ours.cpu / restic.cpu:.2f} x)"
        table.add("  snapshot", ours, f"{beside}; {stored >> 20} MiB, {ours.last.mib:.0f} MiB of memory", "s")
        world.drop("store", "cache", "all.tar.zst", "restic", "restic-cache")


def make_random(top, size):
    top.mkdir()
    for i in range(16):
        with open(top / f"random{i}", "wb") as out:
            for _ in range(16):
                out.write(os.urandom(size // 256))
    return size


def checkout(world, table):
    top = world.base / "small"
    make_tree(top, 5000, 4000, world.text)
    sent = json.loads(world.send(top).out)["id"]
    rooms = iter(range(1000))

    def ours():
        return Run([world.snap, "checkout", f"file://{world.base / 'store'}", sent, str(world.base / "trees"),
                    str(world.base / f"room{next(rooms)}")])

    cold = ours()
    second = Many(9, ours)
    copy = Many(3, lambda: Run(["cp", "-a", str(top), str(world.base / f"copy{next(rooms)}")]))
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "all")
    tree = Many(3, lambda: git(top, "worktree", "add", "-q", "-f", str(world.base / f"work{next(rooms)}"), "--detach"))
    table.add("checkout of 5000 files: cp -a", copy)
    table.add("checkout of 5000 files: git worktree add", tree)
    table.add("  snapshot, the first job (files are written)", cold)
    table.add("  snapshot, the second job", second, f"{times(second, copy)} cp -a, {times(second, tree)} git worktree add")
    world.drop("store", "cache")


def memory(world, table):
    files = world.count(1_000_000)
    top = world.base / "many"
    make_tree(top, files, 60, world.text, per_folder=1000)
    settle()
    ours = world.send(top)
    table.line(f"memory, {files} files: first snapshot", f"{ours.mib:.0f}", "MiB", f"{ours.wall:.1f} s")
    again = world.send(top)
    table.line("  unchanged", f"{again.mib:.0f}", "MiB", f"{again.wall:.2f} s")
    (top / "part0" / "module0" / "source_7.cpp").write_text("edited")
    edited = world.send(top)
    table.line("  one edit", f"{edited.mib:.0f}", "MiB", f"{edited.wall:.2f} s")
    if have("restic"):
        world.new_restic()
        # By a small parent: what a process had before its exec counts as its own.
        mark = world.base / "rss"
        restic = Run(["/usr/bin/time", "-f", "%M", "-o", str(mark), "restic", "-q", "-r",
                      str(world.base / "restic"), "backup", "."], cwd=top, env=world.env)
        table.line("  restic backup", f"{int(mark.read_text()) / 1024:.0f}", "MiB", f"{restic.wall:.1f} s")


PARTS = {"edit": unchanged_and_edit, "first": first, "checkout": checkout, "memory": memory}


def facts():
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    dirty = subprocess.run(["git", "status", "--porcelain", "src"], cwd=ROOT, capture_output=True, text=True).stdout
    return [("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
            ("commit", commit + (" (with changes)" if dirty else "")),
            ("command", "bench/snapshot.py"),
            ("load before", " ".join(f"{value:.2f}" for value in os.getloadavg())),
            ("machine", f"{os.cpu_count()} CPUs, Linux {os.uname().release}")]


def write_results(head, rows):
    file = BENCH / "RESULTS.md"
    before, _, own = (file.read_text() if file.exists() else "# Results").partition(f"\n{HEADING}\n")
    kept, after = before.rstrip(), own[own.find("\n# "):] if "\n# " in own else ""  # parts of others stay
    lines = [kept, "", HEADING, "", "Written by `bench/snapshot.py`: middle of several runs, files in memory.", ""]
    lines += ["| of this run | |", "|---|---|"] + [f"| {name} | {value} |" for name, value in head] + [""]
    lines += ["| what | value | unit | beside |", "|---|---:|---|---|"]
    lines += [f"| {what.replace('|', 'to')} | {value} | {unit} | {beside.replace('|', 'to')} |"
              for what, value, unit, beside in rows]
    file.write_text("\n".join(lines) + "\n" + after)


def main(argv):
    parser = argparse.ArgumentParser(description="measure snapshots beside their peers, in one run")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sizes; writes nothing")
    parser.add_argument("--only", help=f"some of: {','.join(PARTS)}; writes nothing")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build tree (build)")
    parser.add_argument("--where", help="where to put the trees (a new folder in /tmp)")
    parser.add_argument("--no-write", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args(argv)
    options.build = options.build.resolve()
    parts = options.only.split(",") if options.only else list(PARTS)
    if not (options.build / "bench" / "snap").exists():
        parser.error("bench/snap is missing: ninja -C build bench_snap")
    head, table, world = facts(), Table(), World(options)
    try:
        for part in parts:
            print(f"{part}:", flush=True)
            PARTS[part](world, table)
            after = ("load after", " ".join(f"{value:.2f}" for value in os.getloadavg()))
            if not (options.quick or options.only or options.no_write):
                write_results([*head, after], table.rows)
    finally:
        world.drop("")


if __name__ == "__main__":
    main(sys.argv[1:])
