"""An adapter: the client reads a document, adds to it, and writes it back."""

from collections.abc import Sequence

from goldfish import Adapter, Message


class Documents(Adapter):
    def append(self, chat, messages: Sequence[Message]) -> None:
        new = [{"who": message.role, "line": message.text} for message in messages]
        for _ in range(50):
            document = chat.request("GET", f"/documents/{chat.session}").json()
            document["lines"] += new
            written = chat.request("PUT", f"/documents/{chat.session}", json=document, expect=[409])
            if written.status != 409:  # nobody else wrote meanwhile
                return
        raise RuntimeError("always somebody else was faster")

    def recall(self, chat, limit: int | None) -> list[Message]:
        lines = chat.request("GET", f"/documents/{chat.session}").json()["lines"]
        if limit is not None:
            lines = lines[max(0, len(lines) - limit) :]
        return [Message(line["who"], line["line"]) for line in lines]
