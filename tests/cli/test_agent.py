"""The agent without a cluster: a plan goes in, exit codes, records and the pod's log come out."""

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import BINARY, World, eventually  # noqa: E402

TOOL = os.path.join(os.path.dirname(BINARY), "tests", "agent_tool")
FRAME = re.compile(rb"^(0|[1-9]\d*)([oes]) (0|[1-9]\d*)(r*)(-?) (.*)$", re.S)

# Every path with what it is and holds, as one hash.
DIGEST = """
import hashlib, os, stat
total = hashlib.sha256()
for folder, names, files in sorted(os.walk('.')):
    for name in sorted(names + files):
        path = os.path.join(folder, name)
        about = os.lstat(path)
        total.update(f'{path} {oct(about.st_mode)}'.encode())
        if stat.S_ISLNK(about.st_mode): total.update(os.readlink(path).encode())
        elif stat.S_ISREG(about.st_mode): total.update(open(path, 'rb').read())
print(total.hexdigest())
"""


def as_json(raw):
    """Bytes as the codecs write them."""
    if isinstance(raw, str):
        raw = os.fsencode(raw)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def streams_of(log):
    """The ranks' streams, rebuilt from a pod's log by its offsets; and what is not theirs."""
    streams, foreign = {}, b""
    for line in [part + b"\n" for part in log.split(b"\n")[:-1]]:
        found = FRAME.match(line[:-1])
        if not found:
            foreign += line
            continue
        rank, stream, offset, returns, goes_on, data = found.groups()
        key = (int(rank), stream.decode())
        have = streams.setdefault(key, b"")
        assert len(have) == int(offset), (key, len(have), line[:80])
        streams[key] = have + data + b"\r" * len(returns) + (b"" if goes_on else b"\n")
    return streams, foreign


def can_unshare():
    try:
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False)
        return done.returncode == 0
    except FileNotFoundError:
        return False


def is_static():
    """Whether the program names no loader, which stands near the beginning of its file."""
    with open(BINARY, "rb") as file:
        return b"/ld-linux" not in file.read(4096)


class Pod:
    """One agent in a root of its own."""

    def __init__(self, base, name, plan, is_first, env=None, index=None):
        self.root = os.path.join(base, name)
        os.makedirs(self.root)
        self.log = os.path.join(self.root, "termination-log")
        with open(self.log, "wb"):
            pass
        self.plan = os.path.join(self.root, "plan.json")
        with open(self.plan, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        self.is_first = is_first
        self.env = {"PATH": os.environ["PATH"], "POD": self.root, **(env or {})}
        self.index = index
        self.process = None

    def words(self):
        words = [BINARY, "agent", "rank", "--plan", self.plan, "--root", self.root, "--termination-log", self.log]
        if self.index is not None:
            words += ["--index", str(self.index)]
        return (["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if self.is_first else []) + words

    def start(self):
        self.process = subprocess.Popen(self.words(), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self

    def finish(self, timeout=90):
        self.out, self.err = self.process.communicate(timeout=timeout)
        return self.process.returncode

    def run(self):
        return self.start().finish()

    def pid(self):
        """The agent's own, as seen from here."""
        if not self.is_first:
            return self.process.pid

        def child():
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
                return file.read().split()
        return int(eventually("the agent is there", child)[0])

    def record(self):
        with open(self.log, encoding="utf-8") as file:
            return json.load(file)

    def kept(self):
        with open(os.path.join(self.root, "run", "exit.json"), encoding="utf-8") as file:
            return json.load(file)

    def state(self):
        done = subprocess.run([BINARY, "agent", "status", "--root", self.root], capture_output=True, check=False, env={})
        return json.loads(done.stdout)["state"] if done.returncode == 0 else None

    def streams(self):
        streams, self.foreign = streams_of(self.out)
        return streams


class Cases:
    """What holds whether the agent is the first process of its world or not."""

    is_first = False

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="muster-agent-")
        self.mark = os.path.join(self.base, "mark")
        self.pods = []
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def tearDown(self):
        for pod in self.pods:
            if pod.process and pod.process.poll() is None:
                pod.process.kill()
                pod.process.communicate()

    def plan(self, *argv, ranks=1, nodes=1, env=None, **more):
        plan = {
            "ref": {"seq": 1, "job": "ann_1_00000001", "attempt": 2}, "epoch": 2,
            "argv": [as_json(word) for word in argv],
            "env": [[as_json(name), as_json(value)] for name, value in (env or {}).items()],
            "grace_us": 20_000_000, "dir": self.base,
            "nodes": [{"index": n, "ranks": [{"rank": n * ranks + r, "local_rank": r, "env": {"RANK": str(n * ranks + r)}}
                                             for r in range(ranks)]} for n in range(nodes)]}
        plan.update(more)
        return plan

    def pod(self, plan, name=None, **more):
        pod = Pod(self.base, name or f"pod{len(self.pods)}", plan, self.is_first, **more)
        self.pods.append(pod)
        return pod

    def sh(self, text, **more):
        return self.plan("/bin/sh", "-c", text, **more)

    def run_pod(self, plan, code, **more):
        pod = self.pod(plan, **more)
        self.assertEqual(pod.run(), code, (pod.out[-1000:], pod.err[-1000:]))
        return pod

    def start_marked(self, plan, **more):
        """A pod whose rank has made the mark."""
        pod = self.pod(plan, **more).start()
        eventually("its rank runs", lambda: os.path.exists(self.mark))
        return pod

    # Ends -----------------------------------------------------------------------------------------

    def test_its_exit_code_is_the_ranks(self):
        pod = self.run_pod(self.sh("echo hi; echo oh >&2"), 0)
        self.assertEqual(pod.streams(), {(0, "o"): b"hi\n", (0, "e"): b"oh\n"})
        record = pod.record()
        self.assertEqual((record["attempt"], record["epoch"], record["killed_by"]), (2, 2, ""))
        self.assertEqual((record["ranks"][0]["out_bytes"], record["ranks"][0]["exit"]), (3, 0))
        self.assertEqual(pod.kept(), record)
        pod = self.run_pod(self.sh("exit 3"), 3)
        self.assertEqual(pod.record()["ranks"][0]["exit"], 3)
        pod = self.run_pod(self.sh("kill -9 $$"), 137)
        self.assertEqual(pod.record()["ranks"][0]["signal"], 9)

    def test_a_program_that_is_not_there_is_told(self):
        pod = self.run_pod(self.plan("/no/such"), 127)
        self.assertIn("/no/such", pod.record()["why"])

    def test_a_rank_that_fails_takes_the_others_along_and_gives_the_code(self):
        plan = self.sh('if [ "$RANK" = 2 ]; then exit 7; fi; exec sleep 1000', ranks=4)
        pod = self.run_pod(plan, 7)
        ends = {rank["rank"]: (rank["exit"], rank["signal"]) for rank in pod.record()["ranks"]}
        self.assertEqual(ends, {0: (0, 15), 1: (0, 15), 2: (7, 0), 3: (0, 15)})
        self.assertEqual(pod.record()["killed_by"], "")

    def test_a_plan_that_cannot_be_read_leaves_a_record(self):
        pod = self.pod(self.sh("true"))
        with open(pod.plan, "w", encoding="utf-8") as file:
            file.write('{"argv":')
        self.assertEqual(pod.run(), 125)
        self.assertIn("corrupt_input", pod.record()["killed_by"])
        pod = self.pod(self.sh("true"), index=5)
        self.assertEqual(pod.run(), 125)
        self.assertIn("no node 5", pod.record()["killed_by"])

    def test_the_record_of_64_ranks_fits_the_termination_message(self):
        plan = self.sh('if [ "$RANK" = 33 ]; then exit 7; fi; exec sleep 1000', ranks=64)
        pod = self.run_pod(plan, 7)
        self.assertLessEqual(os.path.getsize(pod.log), 4096)
        record = pod.record()
        self.assertEqual(len(record["ranks"]), 64)
        self.assertEqual((record["ranks"][0]["rank"], record["ranks"][0]["exit"]), (33, 7), "the first failure stands first")
        self.assertEqual({rank.get("signal", 0) for rank in record["ranks"][1:]}, {15})
        self.assertEqual(len(pod.kept()["ranks"][0]["out_xxh3"]), 16, "the full record is kept in the pod")

    # Bytes ----------------------------------------------------------------------------------------

    def test_words_and_variables_are_exact(self):
        odd = b"\xff\xfe '\"$(x) \xe2\x82"
        script = "import os,sys; print(os.fsencode(sys.argv[1]).hex(), os.environb[b'O\\xdd'].hex())"
        pod = self.run_pod(self.plan(sys.executable, "-c", script, odd, env={b"O\xdd": odd, "PATH": os.environ["PATH"]}), 0)
        self.assertEqual(pod.streams()[(0, "o")], f"{odd.hex()} {odd.hex()}\n".encode())

    def test_any_bytes_arrive_and_a_slow_reader_only_slows(self):
        source = os.path.join(self.base, "noise")
        data = os.urandom(3_000_000) + b"\r\n\r\r\n\n" * 1000 + b"x" * 100_000 + b"no end\r"
        with open(source, "wb") as file:
            file.write(data)
        pod = self.pod(self.sh(f"cat {source}; touch {self.mark}$RANK", ranks=2)).start()
        # Nobody reads yet: the ranks must wait, and the agent must still answer.
        eventually("it runs", lambda: pod.state() == "running")
        self.assertFalse(os.path.exists(self.mark + "0") and os.path.exists(self.mark + "1"))
        self.assertEqual(pod.finish(), 0)
        self.assertEqual(pod.streams(), {(0, "o"): data, (1, "o"): data})
        self.assertEqual(pod.foreign, b"")
        self.assertEqual([rank["out_bytes"] for rank in pod.record()["ranks"]], [len(data)] * 2)

    def test_a_prompt_without_newline_is_seen_while_it_waits(self):
        pod = self.pod(self.sh("printf 'half a line'; exec sleep 1000")).start()
        seen = b""
        while b"\n" not in seen:
            seen += os.read(pod.process.stdout.fileno(), 4096)
        self.assertEqual(seen, b"0o 0- half a line\n")

    def test_the_image_lends_its_variables(self):
        usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/tools"
        plan = self.plan("/usr/bin/env", env={"PATH": usual, "BOTH": "plan"})
        pod = self.run_pod(plan, 0, env={"PATH": "/opt/image:/usr/bin:/bin:/usr/sbin:/sbin", "BOTH": "image", "ONLY": "image"})
        lines = pod.streams()[(0, "o")].decode().splitlines()
        self.assertIn("PATH=/opt/image:/usr/bin:/bin:/usr/sbin:/sbin:/tools", lines)
        self.assertIn("BOTH=plan", lines)
        self.assertIn("ONLY=image", lines)

    # Signals --------------------------------------------------------------------------------------

    def test_term_is_handed_on_and_the_rank_may_say_goodbye(self):
        pod = self.start_marked(self.sh(f"trap 'echo bye; exit 0' TERM; touch {self.mark}; while :; do sleep 0.05; done"))
        os.kill(pod.pid(), signal.SIGTERM)
        self.assertEqual(pod.finish(), 143)
        self.assertEqual(pod.streams(), {(0, "o"): b"bye\n"})
        self.assertEqual(pod.record()["killed_by"], "shutdown")

    def test_who_ignores_term_is_killed_after_the_grace(self):
        script = f"trap '' TERM; (trap '' TERM; setsid sleep 1000) & touch {self.mark}; while :; do sleep 0.05; done"
        pod = self.start_marked(self.sh(script, grace_us=300_000), env={"TAG": self.base})
        os.kill(pod.pid(), signal.SIGTERM)
        self.assertEqual(pod.finish(), 143)
        self.assertEqual(pod.record()["ranks"][0]["signal"], 9)
        self.assertEqual(World.processes_with("TAG=" + self.base), [])

    def test_the_time_limit_ends_it(self):
        pod = self.run_pod(self.sh("exec sleep 1000", time_limit_us=200_000), 143)
        self.assertEqual(pod.record()["killed_by"], "time_limit")
        self.assertEqual(pod.record()["ranks"][0]["signal"], 15)

    def test_a_signal_can_be_sent_through_the_agent(self):
        pod = self.start_marked(self.sh(f"trap 'exit 9' USR1; touch {self.mark}; while :; do sleep 0.05; done"))
        self.assertEqual(pod.state(), "running")
        subprocess.run([BINARY, "agent", "signal", str(int(signal.SIGUSR1)), "--root", pod.root], check=True, env={})
        self.assertEqual(pod.finish(), 9)
        self.assertEqual(pod.record()["handed_on"], int(signal.SIGUSR1))
        self.assertIsNone(pod.state(), "and who is gone does not answer")

    # Leftovers ------------------------------------------------------------------------------------

    def test_orphans_are_inherited_reaped_and_do_not_outlive_it(self):
        orphan = os.path.join(self.base, "orphan")
        # The host's number of a process, whatever world it is in.
        pod = self.start_marked(self.sh(f"(setsid sleep 1000 &) ; (setsid sleep 1001 &); touch {self.mark}; while [ ! -e {orphan} ]; do sleep 0.05; done"),
                                env={"TAG": self.base})

        def orphans(seconds):
            found = []
            for pid in World.processes_with("TAG=" + self.base):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if file.read() == f"sleep\0{seconds}\0".encode():
                            found.append(pid)
                except OSError:
                    pass
            return found

        def parent(pid):
            with open(f"/proc/{pid}/stat", "rb") as file:
                return int(file.read().rsplit(b")", 1)[1].split()[1])
        first = eventually("the orphan runs", lambda: orphans(1000))[0]
        eventually("the agent is its parent", lambda: parent(first) == pod.pid())
        os.kill(first, signal.SIGKILL)
        eventually("it is no zombie", lambda: not os.path.exists(f"/proc/{first}"))
        with open(orphan, "w", encoding="ascii"):
            pass
        self.assertEqual(pod.finish(), 0)
        self.assertEqual(orphans(1001), [])

    # Peers ----------------------------------------------------------------------------------------

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return str(probe.getsockname()[1])

    def gang(self, nodes, **times):
        plan = self.sh(f"touch {self.mark}$RANK; echo $RANK", ranks=2, nodes=nodes, env={"MASTER_ADDR": "127.0.0.1"})
        env = {"MUSTER_BARRIER_PORT": self.free_port(), **times}
        return [self.pod(plan, env={**env, "JOB_COMPLETION_INDEX": str(n)}) for n in range(nodes)]

    def test_nobody_starts_before_everybody_is_there(self):
        pods = self.gang(3)
        for pod in (pods[1], pods[0]):
            pod.start()
        for pod in pods[:2]:
            eventually("it waits", lambda pod=pod: pod.state() == "barrier")
        self.assertFalse([name for name in os.listdir(self.base) if name.startswith("mark")])
        pods[2].start()
        for n, pod in enumerate(pods):
            self.assertEqual(pod.finish(), 0, pod.err)
            self.assertEqual(pod.streams(), {(2 * n, "o"): f"{2 * n}\n".encode(), (2 * n + 1, "o"): f"{2 * n + 1}\n".encode()})

    def test_who_is_missing_is_named_by_everybody(self):
        pods = self.gang(3, MUSTER_BARRIER_TIMEOUT="2s")
        for pod in pods[:2]:
            pod.start()
        for pod in pods[:2]:
            self.assertEqual(pod.finish(), 125)
            self.assertEqual(pod.record()["killed_by"], "barrier_timeout: missing rank(s) 4-5 (index 2)")
            self.assertEqual(pod.record()["ranks"], [])

    def test_a_node_without_its_first_node_says_so(self):
        pod = self.gang(2, MUSTER_BARRIER_TIMEOUT="1s")[1]
        self.assertEqual(pod.run(), 125)
        self.assertTrue(pod.record()["killed_by"].startswith("barrier_timeout: missing rank(s) 0-1 (index 0)"), pod.record())

    def test_strangers_do_not_open_the_barrier(self):
        pods = self.gang(2, MUSTER_BARRIER_TIMEOUT="2s")
        pods[0].start()
        eventually("it waits", lambda: pods[0].state() == "barrier")
        port = int(pods[0].env["MUSTER_BARRIER_PORT"])

        def visit(words):
            try:
                with socket.create_connection(("127.0.0.1", port), 1) as caller:
                    caller.sendall(words)
                return True
            except OSError:
                return False
        eventually("it listens", lambda: visit(b"0123456789abcdef0123456789abcdef 1\n"))
        visit(b"x" * 10_000)
        self.assertEqual(pods[0].finish(), 125)
        self.assertIn("2-3 (index 1)", pods[0].record()["killed_by"])

    def test_a_stop_is_heard_while_it_waits(self):
        pod = self.gang(2)[0].start()
        eventually("it waits", lambda: pod.state() == "barrier")
        os.kill(pod.pid(), signal.SIGTERM)
        self.assertEqual(pod.finish(), 143)
        self.assertEqual((pod.record()["killed_by"], pod.record()["ranks"]), ("shutdown", []))


# Run in a network and mounts of its own: names are answered here, and only from the third question on.
NAMES = """
import fcntl, json, os, socket, struct, subprocess, sys, threading
_, folder, *agents = sys.argv
with socket.socket() as any:  # the loopback device comes up
    fcntl.ioctl(any, 0x8914, struct.pack('16sh14x', b'lo', 1 | 64))
with open(folder + '/resolv.conf', 'w') as file:
    file.write('search ns.svc.cluster.local svc.cluster.local\\nnameserver 127.0.0.1\\noptions ndots:5\\n')
subprocess.run(['mount', '--bind', folder + '/resolv.conf', '/etc/resolv.conf'], check=True)
asked = []
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.1', 53))
def answer():
    while True:
        query, peer = server.recvfrom(4096)
        end = query.index(0, 12)
        name, at = [], 12
        while query[at]:
            name.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        name, kind = '.'.join(name), struct.unpack('>H', query[end + 1:end + 3])[0]
        asked.append(name)
        known = name == 'm-0.m.ns.svc.cluster.local' and kind == 1 and len(asked) > 6
        body = b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4\\x7f\\0\\0\\1' if known else b''
        flags = 0x8180 if known else 0x8183 if len(asked) % 2 else 0x8182
        server.sendto(query[:2] + struct.pack('>HHHHH', flags, 1, 1 if known else 0, 0, 0) + query[12:end + 5] + body, peer)
threading.Thread(target=answer, daemon=True).start()
running = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in json.loads(agents[0])]
codes = [agent.wait() for agent in running]
print(json.dumps({'codes': codes, 'asked': asked}))
"""


class Plain(Cases, unittest.TestCase):
    """Beside other processes, as in a pod that shares them."""


@unittest.skipUnless(can_unshare(), "no right to make a pid namespace here")
class First(Cases, unittest.TestCase):
    """As the first process, as in an ordinary pod."""

    is_first = True

    @unittest.skipUnless(os.getuid() == 0, "a network of its own needs root")
    def test_a_name_that_appears_late_is_found_by_the_pods_own_dns(self):
        plan = self.sh("true", nodes=2, env={"MASTER_ADDR": "m-0.m"})
        pods = [self.pod(plan, index=n) for n in range(2)]
        words = [pod.words()[5:] for pod in pods]
        done = subprocess.run(["unshare", "--mount", "--net", sys.executable, "-c", NAMES, self.base, json.dumps(words)],
                              capture_output=True, check=False, timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["codes"], [0, 0], (told, [pod.record() for pod in pods]))
        self.assertGreater(told["asked"].count("m-0.m.ns.svc.cluster.local"), 1, "asked again until it was there")


class Code(World):
    """Code by every way into a pod."""

    is_first = False
    plan, pod = Cases.plan, Cases.pod

    code = "snapshot"

    def setUp(self):
        World.setUp(self)
        self.pods = []
        self.mark = os.path.join(self.base, "mark")
        self.write(os.path.join(self.dir, "train.py"), DIGEST)
        os.mkdir(os.path.join(self.dir, "deep"), 0o750)
        self.write(os.path.join(self.dir, "deep", "data.bin"), "x" * 200_000)
        os.chmod(os.path.join(self.dir, "deep", "data.bin"), 0o640)
        os.symlink("deep/data.bin", os.path.join(self.dir, "link"))
        ident = self.submit("--", "true")
        self.ok("wait", ident)
        self.id = self.job(ident)["snapshot"]
        self.store = "file://" + os.path.join(self.home, "chunks")
        self.bundle = subprocess.run([TOOL, "bundle", self.store, self.id], check=True, capture_output=True).stdout
        self.digest = subprocess.run([sys.executable, "train.py"], cwd=self.dir, check=True, capture_output=True).stdout

    def tearDown(self):
        Cases.tearDown(self)
        World.tearDown(self)

    def code_pod(self, store="", name="proj", argv=(sys.executable, "train.py"), **folder):
        plan = self.plan(*argv, env={"PATH": os.environ["PATH"]}, folder={"snapshot": self.id, "store": store, "name": name, **folder})
        return self.pod(plan, name=f"code{len(self.pods)}")

    def assert_same_tree(self, pod):
        self.assertEqual(pod.process.returncode, 0, (pod.out, pod.err, pod.record()))
        self.assertEqual(pod.streams()[(0, "o")], self.digest)

    def test_from_a_secret(self):
        pod = self.code_pod()
        os.mkdir(os.path.join(pod.root, "code-secret"))
        with open(os.path.join(pod.root, "code-secret", "bundle"), "wb") as file:
            file.write(self.bundle)
        pod.run()
        self.assert_same_tree(pod)

    def test_from_a_stream_that_comes_while_it_waits(self):
        pod = self.code_pod().start()
        eventually("it waits", lambda: pod.state() == "preparing")
        receive = [BINARY, "agent", "receive", os.path.join(pod.root, "code"), "--plan", pod.plan]
        done = subprocess.run(receive, input=self.bundle, capture_output=True, check=True, env={})
        self.assertEqual(done.stdout.decode().strip(), self.id)
        pod.finish()
        self.assert_same_tree(pod)
        # Who comes later with nothing finds it there.
        again = subprocess.run(receive, stdin=subprocess.DEVNULL, capture_output=True, check=True, env={})
        self.assertEqual(again.stdout, done.stdout)

    # From the first node ------------------------------------------------------------------------

    free_port = Cases.free_port

    def code_gang(self, tokens=("right", "right")):
        """Two nodes whose code is to be sent; the second asks the first."""
        ports = {"MUSTER_BARRIER_PORT": self.free_port(), "MUSTER_CODE_PORT": self.free_port()}
        pods = []
        for n, token in enumerate(tokens):
            plan = self.plan(sys.executable, "train.py", nodes=2, env={"PATH": os.environ["PATH"], "MASTER_ADDR": "127.0.0.1"},
                             folder={"snapshot": self.id, "name": "proj", "token": token})
            pods.append(self.pod(plan, name=f"code{n}", env={**ports, "JOB_COMPLETION_INDEX": str(n)}))
        return pods

    def receive(self, pod, **more):
        words = [BINARY, "agent", "receive", os.path.join(pod.root, "code"), "--plan", pod.plan]
        return subprocess.run(words, capture_output=True, env={**pod.env, "MUSTER_CODE_TIMEOUT": "2s"}, **more)

    def test_the_others_get_it_from_the_first_node(self):
        first, second = self.code_gang()
        self.assertEqual(self.receive(first, input=self.bundle).returncode, 0)
        first.start()
        eventually("the first gives it out", lambda: self.receive(second, stdin=subprocess.DEVNULL).returncode == 0)
        second.start()
        for pod in (first, second):
            self.assertEqual(pod.finish(), 0, pod.err)
        self.assertEqual(first.streams()[(0, "o")], self.digest)
        self.assertEqual(second.streams()[(1, "o")], self.digest)
        eventually("nobody gives it out any more", lambda: not self.is_open(first.env["MUSTER_CODE_PORT"]))

    def is_open(self, port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(port))) == 0

    def test_another_token_gets_nothing_and_a_stream_still_helps(self):
        first, second = self.code_gang(("right", "wrong"))
        self.assertEqual(self.receive(first, input=self.bundle).returncode, 0)
        first.start()
        eventually("the first gives it out", lambda: self.is_open(first.env["MUSTER_CODE_PORT"]))
        refused = self.receive(second, stdin=subprocess.DEVNULL)
        self.assertEqual(refused.returncode, 6, refused)
        waiting = subprocess.Popen([BINARY, "agent", "receive", os.path.join(second.root, "code"), "--plan", second.plan],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=second.env)
        self.assertEqual(self.receive(second, input=self.bundle).returncode, 0)
        self.assertEqual(waiting.communicate(timeout=60)[0].decode().strip(), self.id)

    def test_a_bundle_of_another_snapshot_is_refused(self):
        pod = self.code_pod()
        with open(pod.plan, encoding="utf-8") as file:
            text = file.read()
        with open(pod.plan, "w", encoding="utf-8") as file:
            file.write(text.replace(self.id, "ab" * 32))
        receive = [BINARY, "agent", "receive", os.path.join(pod.root, "code"), "--plan", pod.plan]
        done = subprocess.run(receive, input=self.bundle, capture_output=True, env={})
        self.assertEqual(done.returncode, 9, done)
        self.assertIn(b"another snapshot", done.stderr)

    def test_from_a_store_and_in_the_order_the_plan_says(self):
        pod = self.code_pod(store=f"bundle:///no/such/bundle\nfile://{self.base}/nothing\n{self.store}")
        pod.run()
        self.assert_same_tree(pod)

    def test_from_nowhere(self):
        pod = self.code_pod()
        pod.env["MUSTER_CODE_TIMEOUT"] = "300ms"
        self.assertEqual(pod.run(), 125)
        self.assertIn("never_started", pod.record()["killed_by"])
        self.assertIn("did not arrive", pod.record()["killed_by"])

    def test_damage_is_told(self):
        pod = self.code_pod()
        os.mkdir(os.path.join(pod.root, "code-secret"))
        middle = len(self.bundle) // 2
        with open(os.path.join(pod.root, "code-secret", "bundle"), "wb") as file:
            file.write(self.bundle[:middle] + bytes([self.bundle[middle] ^ 1]) + self.bundle[middle + 1:])
        self.assertEqual(pod.run(), 125)
        self.assertIn("corrupt_input", pod.record()["killed_by"])

    def test_the_folder_below_and_its_name(self):
        pod = self.code_pod(store=self.store, below="deep", argv=("/bin/pwd",))
        self.assertEqual(pod.run(), 0, pod.err)
        self.assertEqual(pod.streams()[(0, "o")], os.path.join(pod.root, "trees/proj/deep\n").encode())

    def test_the_set_up_runs_in_it_and_is_heard(self):
        pod = self.code_pod(store=self.store, setup="echo setting up; echo built > built.txt", argv=("/bin/cat", "built.txt"))
        self.assertEqual(pod.run(), 0, pod.err)
        self.assertEqual(pod.streams(), {(0, "s"): b"setting up\n", (0, "o"): b"built\n"})

    def test_a_set_up_that_fails_is_told_with_its_last_lines(self):
        pod = self.code_pod(store=self.store, setup="echo first; echo the real reason >&2; exit 3", argv=("/usr/bin/touch", self.mark))
        self.assertEqual(pod.run(), 125)
        self.assertTrue(pod.record()["killed_by"].startswith("setup_failed: "), pod.record())
        self.assertIn("the real reason", pod.record()["killed_by"])
        self.assertEqual(pod.streams(), {(0, "s"): b"first\nthe real reason\n"})
        self.assertFalse(os.path.exists(self.mark))

    def test_a_stop_ends_a_set_up_with_all_it_started(self):
        pod = self.code_pod(store=self.store, setup=f"sleep 4321 & touch {self.mark}; wait", argv=("/bin/true",))
        pod.env["TAG"] = self.base
        pod.start()
        eventually("it has begun", lambda: os.path.exists(self.mark))
        os.kill(pod.pid(), signal.SIGTERM)
        self.assertEqual(pod.finish(), 143)
        eventually("nothing is left", lambda: not self.processes_with("TAG=" + self.base))


class Install(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="muster-scratch-")
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)

    def test_it_copies_itself(self):
        folder = os.path.join(self.base, "a/b")
        subprocess.run([BINARY, "agent", "install", folder], check=True, env={})
        self.assertEqual(os.listdir(folder), ["muster"])
        path = os.path.join(folder, "muster")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o755)
        with open(path, "rb") as ours, open(BINARY, "rb") as theirs:
            self.assertEqual(hashlib.sha256(ours.read()).digest(), hashlib.sha256(theirs.read()).digest())
        subprocess.run([path, "agent", "install", folder], check=True, env={})  # over a file that runs

    def in_scratch(self, *words, env=None):
        """In a root that holds nothing: no shell, no libc, no /proc, no /dev."""
        return subprocess.run(["unshare", "--pid", "--fork", "--kill-child", shutil.which("chroot"), self.base, *words],
                              capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL, env=env or {})

    @unittest.skipUnless(can_unshare() and os.getuid() == 0, "a root of its own needs root")
    @unittest.skipUnless(is_static(), "this build needs a loader, which an empty image has not")
    def test_an_empty_image_is_enough(self):
        shutil.copy(BINARY, os.path.join(self.base, "muster"))
        done = self.in_scratch("/muster", "agent", "install", "/m/bin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.access(os.path.join(self.base, "m/bin/muster"), os.X_OK))
        plan = {"ref": {"seq": 1, "job": "j", "attempt": 1}, "epoch": 1, "argv": ["/m/bin/muster", "version"], "env": {}, "dir": "/",
                "grace_us": 1000, "nodes": [{"index": 0, "ranks": [{"rank": 0}, {"rank": 1}]}], "folders": ["/m/job/checkpoint"]}
        with open(os.path.join(self.base, "plan"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        done = self.in_scratch("/m/bin/muster", "agent", "rank", "--plan", "/plan", "--root", "/m")
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        streams, foreign = streams_of(done.stdout)
        self.assertEqual(foreign, b"")
        self.assertTrue(streams[(0, "o")].startswith(b"muster "), streams)
        self.assertEqual(streams[(0, "o")], streams[(1, "o")])
        with open(os.path.join(self.base, "m/run/exit.json"), encoding="utf-8") as file:
            self.assertEqual([rank["exit"] for rank in json.load(file)["ranks"]], [0, 0])
        self.assertTrue(os.path.isdir(os.path.join(self.base, "m/job/checkpoint")))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
