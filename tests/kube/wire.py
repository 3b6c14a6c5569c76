"""As much of HTTP/1.1 as a proxy needs, over asyncio's streams."""

import asyncio
import json
import socket
import struct

LARGEST_HEAD = 1 << 16


class Message:
    """The head of a request or an answer: its first line, its headers, and the bytes it came as."""

    def __init__(self, head):
        self.head = head
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.words = first.split(" ", 2)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def is_chunked(self):
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def status(self):
        return int(self.words[1])


async def read_head(reader):
    """None at the end of the connection."""
    try:
        return Message(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.IncompleteReadError:
        return None


async def read_chunk(reader):
    """Empty at the last one."""
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    data = await reader.readexactly(size + 2)
    return data[:-2]


async def read_body(reader, message, is_answer):
    if message.is_chunked:
        parts = []
        while part := await read_chunk(reader):
            parts.append(part)
        return b"".join(parts)
    if "content-length" in message.headers:
        return await reader.readexactly(int(message.headers["content-length"]))
    return await reader.read() if is_answer and message.status not in (204, 304) else b""


def whole(message, body):
    """An answer with its length told, whatever way it came."""
    lines = message.head.decode("latin-1").rstrip("\r\n").split("\r\n")
    kept = [line for line in lines if line.split(":")[0].lower() not in ("transfer-encoding", "content-length")]
    return "\r\n".join([*kept, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def refusal(code, reason, more=""):
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
                       "message": f"{reason}, on purpose"}).encode()
    return (f"HTTP/1.1 {code} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
            ).encode() + body


def reset(writer):
    """As a machine does that has lost its memory: no goodbye."""
    raw = writer.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
