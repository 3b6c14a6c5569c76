"""A proxy in front of the API server of a test cluster that does to its client what networks, load
balancers, caches and busy servers do: by a seed, and counted. Without faults it only counts calls.

    with FaultProxy(cluster, Faults(seed=7, total=100)) as proxy:
        proxy.kubeconfig(path)

It serves TLS with the cluster's own certificate, on a thread of its own; the client's token goes on to
the server. exec and its kin pass as they are.
"""

import asyncio
import collections
import contextlib
import json
import re
import ssl
import threading
import urllib.parse

from . import faults as kinds
from . import pki, wire
from .wire import read_body, read_chunk, read_head, reset

REFUSALS = {"410": (410, "Expired", ""), "429": (429, "TooManyRequests", "Retry-After: 1\r\n"),
            "500": (500, "InternalError", ""), "503": (503, "ServiceUnavailable", "")}
LOST = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError)
LARGEST_LINE = 1 << 24
PATH = re.compile(r"^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+(?=/))?/([^/?]+)(?:/[^/?]+(?:/([^/?]+))?)?")


class Cut(Exception):
    """The client's connection is to end here."""


class Request:
    def __init__(self, message, body):
        self.message, self.body = message, body
        self.method, target = message.words[0], message.words[1]
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        found = PATH.match(path)
        self.resource = "/".join(filter(None, found.groups())) if found else path
        self.is_watch = query.get("watch") == "true"
        self.is_followed = query.get("follow") == "true"
        self.is_upgrade = "upgrade" in message.headers
        self.sort = f"{'WATCH' if self.is_watch else self.method} {self.resource}"


class FaultProxy:
    """`calls`: how many requests of each sort came, refused ones too."""

    def __init__(self, cluster, faults=None):
        self.faults = faults or kinds.Faults(0, 0)
        self.calls = collections.Counter()
        self._cluster = cluster
        self._upstream = cluster.state["port"]
        self._trust = ssl.create_default_context(cafile=cluster.file("pki/ca.crt"))
        self._own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._own.load_cert_chain(cluster.file("pki/apiserver.crt"), cluster.file("pki/apiserver.key"))
        self._past = collections.defaultdict(lambda: collections.deque(maxlen=4))  # object -> events of it
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()

    def __enter__(self):
        self._thread.start()
        self._ready.wait(30)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def kubeconfig(self, target):
        return pki.Pki(self._cluster.file("pki")).kubeconfig(target, "admin", f"https://127.0.0.1:{self.port}",
                                                             context="token")

    def _run(self):
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self):
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self._own, limit=LARGEST_LINE,
                                            backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # One connection of the client ---------------------------------------------------------------

    async def _connection(self, reader, writer):
        upstream = None
        try:
            while message := await read_head(reader):
                request = Request(message, await read_body(reader, message, is_answer=False))
                self.calls[request.sort] += 1
                if upstream is None or upstream[0].at_eof():
                    upstream = await asyncio.open_connection("127.0.0.1", self._upstream, ssl=self._trust,
                                                             limit=LARGEST_LINE)
                if not await self._answer(request, reader, writer, upstream):
                    break
        except (*LOST, Cut, asyncio.CancelledError):
            reset(writer)
        finally:
            writer.close()
            if upstream:
                upstream[1].transport.abort()

    async def _answer(self, request, reader, writer, upstream):
        """False when the connection is over."""
        menu = (kinds.OF_STREAMS if request.is_upgrade else kinds.OF_WATCHES if request.is_watch
                else kinds.OF_REQUESTS)
        kind, rng = self.faults.pick(request.sort, menu)
        if kind in REFUSALS:
            writer.write(wire.refusal(*REFUSALS[kind]))
            await writer.drain()
            return True
        if kind == "reset before":
            raise Cut
        if kind == "slow":
            await asyncio.sleep(rng.uniform(0.5, 2))
        upstream[1].write(request.message.head + rechunked(request))
        await upstream[1].drain()
        if request.is_upgrade:
            await tunnel(reader, writer, *upstream)
            return False
        message = await read_head(upstream[0])
        if message is None:
            raise Cut
        if message.is_chunked and message.status == 200 and (request.is_watch or request.is_followed):
            await self._stream(request, message, upstream[0], writer)
            return True
        body = await read_body(upstream[0], message, is_answer=True)
        if kind == "reset after":
            raise Cut
        answer = wire.whole(message, body)
        writer.write(answer[:len(answer) - len(body) // 2 - 1] if kind == "cut" else answer)
        await writer.drain()
        if kind == "cut":
            raise Cut
        return True

    async def _stream(self, request, message, reader, writer):
        writer.write(message.head)
        if request.is_watch and self.faults.total:
            await self._watch(request, reader, writer)
        else:
            while data := await read_chunk(reader):
                writer.write(wire.chunk(data))
                await writer.drain()
        writer.write(wire.chunk(b""))
        await writer.drain()

    # The events of a watch ------------------------------------------------------------------------

    async def _watch(self, request, reader, writer):
        """Event by event. One that is held back comes after the next, or when nothing has come for long."""
        held = rest = b""
        pending = None
        try:
            while True:
                pending = pending or asyncio.ensure_future(read_chunk(reader))
                done, _ = await asyncio.wait([pending], timeout=1 if held else None)
                if not done:
                    writer.write(wire.chunk(held))
                    held = b""
                    continue
                data, pending = pending.result(), None
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    held = await self._event(request, line + b"\n", held, writer)
                if not data:
                    if held:
                        writer.write(wire.chunk(held))
                    return
                await writer.drain()
        finally:
            if pending:
                pending.cancel()
                with contextlib.suppress(BaseException):
                    await pending

    async def _event(self, request, line, held, writer):
        """What is held back after it."""
        event = json.loads(line)
        meta = event["object"].get("metadata", {})
        is_news = event["type"] in ("ADDED", "MODIFIED", "DELETED")
        kind, rng = self.faults.pick("EVENT " + request.resource, kinds.OF_EVENTS, "event") if is_news else (None, None)
        past = self._past[(request.resource, meta.get("name"))]
        if kind == "dropped":
            return held
        if kind == "ERROR 410":
            writer.write(wire.chunk(json.dumps({"type": "ERROR", "object": json.loads(
                wire.refusal(410, "Expired").split(b"\r\n\r\n", 1)[1])}).encode() + b"\n"))
            await writer.drain()
            raise Cut
        if kind == "cut event":
            writer.write(wire.chunk(line[:rng.randrange(1, len(line))]))
            await writer.drain()
            raise Cut
        if kind == "stalled":
            await asyncio.sleep(1)
        if kind == "reordered" and not held:
            return line
        again = rng.choice(past) if kind == "duplicated" and past else line if kind == "duplicated" else b""
        if is_news:
            past.append(line)
        for out in filter(None, (line, again, held)):
            writer.write(wire.chunk(out))
        return b""


def rechunked(request):
    """The body as it came: clients of ours tell its length, others may send pieces."""
    if request.message.is_chunked:
        return wire.chunk(request.body) + wire.chunk(b"") if request.body else wire.chunk(b"")
    return request.body


async def tunnel(reader, writer, far_reader, far_writer):
    async def pump(source, sink):
        with contextlib.suppress(*LOST):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()
    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
