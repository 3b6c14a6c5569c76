"""Carries connections to the API server: from the machine's loopback, where a listening socket was
opened before we left for another network, and from the address by which pods know it.

usage: forward.py SOURCE=HOST:PORT...   where SOURCE is an inherited descriptor or ADDRESS:PORT
"""

import asyncio
import contextlib
import socket
import sys

CHUNK = 1 << 16


async def pump(reader, writer):
    """One direction, until its end; the end is passed on, the other direction may go on."""
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


def carry_to(host, port):
    async def carry(reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        with contextlib.suppress(OSError):  # one that breaks breaks both
            await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
        for end in (writer, far_writer):
            end.close()
    return carry


async def serve(routes):
    servers = []
    for route in routes:
        source, target = route.split("=")
        host, port = target.rsplit(":", 1)
        if source.isdigit():
            listener = socket.socket(fileno=int(source))
        else:
            address, source_port = source.rsplit(":", 1)
            listener = socket.create_server((address, int(source_port)), backlog=512)
        servers.append(await asyncio.start_server(carry_to(host, int(port)), sock=listener))
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
