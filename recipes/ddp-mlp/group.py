"""A process group over TCP: rank 0 listens, every other rank holds one connection to it.

A star, not a ring: gradients here are a few kilobytes, so latency counts, and rank 0 adding in
rank order makes the sum the same in every run. Frames are a length, a kind and a body. A rank
that goes away ends the whole group at once: rank 0 sees its connection close and tells the
others who it was.
"""
import json
import os
import socket
import struct
import time
from array import array
from contextlib import contextmanager
from dataclasses import dataclass

FRAME = struct.Struct("!IB")  # body length, kind
HELLO, WELCOME, PIECE, RESULT, ABORT = range(1, 6)
MAX_BODY = 64 << 20
POLL_SECONDS = 0.1


class GroupError(Exception):
    """The group is broken; its text says by whom and when."""


class Aborted(GroupError):
    """Rank 0 ended the group; the text is rank 0's."""


class Stopped(Exception):
    """SIGTERM came while the group was still gathering."""


@dataclass
class Config:
    rank: int
    world: int
    host: str
    port: int
    connect_timeout: float
    peer_timeout: float

    @staticmethod
    def from_environment(connect_timeout, peer_timeout):
        def whole(name, default):
            text = os.environ.get(name, default)
            if not text.isdecimal():
                raise GroupError(f"{name} must be a whole number, not {text!r}")
            return int(text)

        config = Config(rank=whole("RANK", "0"), world=whole("WORLD_SIZE", "1"),
                        host=os.environ.get("MASTER_ADDR", "127.0.0.1"),
                        port=whole("MASTER_PORT", "29500"),
                        connect_timeout=connect_timeout, peer_timeout=peer_timeout)
        if config.rank >= config.world:
            raise GroupError(f"RANK {config.rank} is not below WORLD_SIZE {config.world}")
        return config


class Link:
    """One connection. Every read and write has a deadline; a closed one is an error with a name."""

    def __init__(self, connection, timeout, name="a stranger"):
        connection.settimeout(timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.timeout = timeout
        self.name = name

    def send(self, kind, body):
        try:
            self.connection.sendall(FRAME.pack(len(body), kind) + body)
        except OSError as error:
            # The other side may have said why before it closed; that tells more than EPIPE does.
            self._raise_last_words()
            raise GroupError(self._broken(error)) from error

    def receive(self, kind):
        try:
            length, got = FRAME.unpack(self._exactly(FRAME.size))
            if length > MAX_BODY:
                raise GroupError(f"{self.name} sent a frame of {length} bytes: not one of ours")
            body = self._exactly(length)
        except OSError as error:
            raise GroupError(self._broken(error)) from error
        if got == ABORT:
            raise Aborted(body.decode(errors="replace"))
        if got != kind:
            raise GroupError(f"{self.name} sent a frame of kind {got}, expected {kind}")
        return body

    def close(self):
        self.connection.close()

    def _exactly(self, count):
        parts = bytearray()
        while len(parts) < count:
            piece = self.connection.recv(count - len(parts))
            if not piece:
                raise GroupError(f"{self.name} went away (connection closed)")
            parts += piece
        return bytes(parts)

    def _broken(self, error):
        if isinstance(error, TimeoutError):
            return f"{self.name} did not answer for {self.timeout:g} s"
        return f"{self.name} went away ({error.strerror or error})"

    def _raise_last_words(self):
        try:
            length, kind = FRAME.unpack(self._exactly(FRAME.size))
            if kind == ABORT and length <= MAX_BODY:
                raise Aborted(self._exactly(length).decode(errors="replace"))
        except (OSError, GroupError) as error:
            if isinstance(error, Aborted):
                raise


@contextmanager
def during(what):
    """Adds what was going on to an error of this rank's own."""
    try:
        yield
    except Aborted:
        raise
    except GroupError as error:
        raise GroupError(f"{what}: {error}") from error


class Group:
    """All ranks of a run. Calls are collective: every rank makes them in the same order.

    `terms` must be equal on all ranks, which keeps two runs apart that meet on one port.
    """

    def __init__(self, config, terms, is_stopped=lambda: False):
        self.rank, self.world = config.rank, config.world
        self._config, self._terms, self._is_stopped = config, terms, is_stopped
        self._deadline = time.monotonic() + config.connect_timeout
        self._links = []  # rank 0: the links to ranks 1.. in order; else: the link to rank 0

    def __enter__(self):
        if self.world > 1:
            self._links = self._gather_ranks() if self.rank == 0 else [self._join()]
        return self

    def __exit__(self, _kind, error, _trace):
        if error is not None and self.rank == 0:
            self._tell_others(error)
        for link in self._links:
            link.close()

    def mean(self, numbers, what):
        """The mean over all ranks, added in rank order: the same bits on every rank."""
        pieces = self.gather(numbers.tobytes(), what)
        if self.rank == 0:
            columns = zip(*(memoryview(piece).cast("d") for piece in pieces))
            numbers = array("d", [sum(column) / self.world for column in columns])
        return array("d", self.broadcast(numbers.tobytes(), what))

    def gather(self, body, what):
        """On rank 0 the bodies of all ranks in order; elsewhere nothing."""
        with during(what):
            if self.rank == 0:
                return [body] + [link.receive(PIECE) for link in self._links]
            self._links[0].send(PIECE, body)
            return []

    def broadcast(self, body, what):
        """Rank 0's body, on every rank."""
        with during(what):
            if self.rank != 0:
                return self._links[0].receive(RESULT)
            for link in self._links:
                link.send(RESULT, body)
            return body

    def _tell_others(self, error):
        text = f"rank 0 failed ({error})" if not isinstance(error, GroupError) else str(error)
        for link in self._links:
            try:
                link.send(ABORT, text.encode())
            except GroupError:
                pass  # it is the one that went away

    def _hello(self):
        return json.dumps({"of": "ddp-mlp", "rank": self.rank, "world": self.world,
                           "terms": self._terms}).encode()

    def _pause(self, waiting_for):
        if self._is_stopped():
            raise Stopped
        if time.monotonic() > self._deadline:
            raise GroupError(f"{waiting_for} within {self._config.connect_timeout:g} s")

    # Rank 0.

    def _listen(self):
        config = self._config
        while True:
            try:
                return socket.create_server((config.host, config.port), backlog=config.world)
            except socket.gaierror as error:  # a cluster's name may take a while to appear
                self._pause(f"{config.host} could not be resolved ({error.strerror})")
                time.sleep(POLL_SECONDS)
            except OSError as error:
                raise GroupError(f"cannot listen on {config.host}:{config.port}: "
                                 f"{os.strerror(error.errno)}; set MASTER_PORT to a free port"
                                 ) from error

    def _gather_ranks(self):
        links = {}
        with self._listen() as listener:
            listener.settimeout(POLL_SECONDS)
            while len(links) < self.world - 1:
                missing = [rank for rank in range(1, self.world) if rank not in links]
                self._pause(f"ranks {missing} did not connect to "
                            f"{self._config.host}:{self._config.port}")
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                self._welcome(connection, links)
        return [links[rank] for rank in sorted(links)]

    def _welcome(self, connection, links):
        """Takes a rank of this run in; anybody else is sent away and changes nothing."""
        link = Link(connection, timeout=5)
        try:
            hello = json.loads(link.receive(HELLO))
            rank = hello["rank"]
            ours = {"of": "ddp-mlp", "rank": rank, "world": self.world, "terms": self._terms}
            if hello != ours or rank in links or not 0 < rank < self.world:
                link.send(ABORT, b"rank 0 belongs to another run, or this rank is there already")
                raise ValueError
            link.send(WELCOME, b"")
        except (GroupError, ValueError, KeyError, TypeError):
            link.close()
            return
        link.name, link.timeout = f"rank {rank}", self._config.peer_timeout
        connection.settimeout(self._config.peer_timeout)
        links[rank] = link

    # Every other rank.

    def _join(self):
        config = self._config
        last = None
        while True:
            self._pause(f"no answer from rank 0 at {config.host}:{config.port} ({last})")
            try:
                connection = socket.create_connection((config.host, config.port), timeout=5)
            except OSError as error:  # not listening yet, or not resolvable yet
                last = error.strerror or str(error)
                time.sleep(POLL_SECONDS)
                continue
            link = Link(connection, config.peer_timeout, "rank 0")
            link.send(HELLO, self._hello())
            link.receive(WELCOME)
            return link
