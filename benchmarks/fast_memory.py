"""A memory as fast as Python can be: one process, httptools on uvloop, histories of encoded messages in lists.

It serves the reference interface well enough for a sound run, so that what is measured is the load process.
"""

from __future__ import annotations

import asyncio
import sys

import httptools
import msgspec
import uvloop

HISTORY_MAX = 20
HISTORIES_MAX = 20_000
"""Histories held at once, some 10 KiB each; one more is refused, loudly, so that no benchmark grows without end."""
histories: dict[bytes, list[msgspec.Raw]] = {}


class Incoming(msgspec.Struct):
    messages: list[msgspec.Raw]


class Named(msgspec.Struct):
    id: str


incoming = msgspec.json.Decoder(Incoming)
named = msgspec.json.Decoder(Named)
encode = msgspec.json.encode


class Connection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.body = b""

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url, self.body = url, b""

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        key, _, _ = self.url.partition(b"?")
        if self.parser.get_method() == b"POST":
            messages = incoming.decode(self.body).messages
            history = histories.get(key)
            if history is None:
                if len(histories) >= HISTORIES_MAX:
                    self.answer(b"507 Insufficient Storage", b"")
                    return
                history = histories[key] = []
            history.extend(messages)
            del history[:-HISTORY_MAX]
            self.answer(b"201 Created", encode({"stored": [{"id": named.decode(m).id, "seq": 1} for m in messages]}))
        elif self.parser.get_method() == b"DELETE":
            histories.pop(key + b"/messages", None)
            self.answer(b"204 No Content", b"")
        else:
            self.answer(b"200 OK", b'{"messages":[' + b",".join(map(bytes, histories.get(key, ()))) + b"]}")

    def answer(self, status: bytes, body: bytes) -> None:
        self.transport.write(  # type: ignore[attr-defined]
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nX-Memory-Instance: m1\r\nContent-Length: %d\r\n\r\n%b"
            % (status, len(body), body)
        )


async def serve(port: int) -> None:
    # Thousands of users may connect at once; what does not fit into the queue would wait a second.
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
