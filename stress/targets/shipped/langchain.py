"""LangChain's chat history on Redis, and LangGraph's threads on PostgreSQL; both hold LangChain's messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from goldfish import Library, Message, Surroundings

_ROLES = {"human": "user", "ai": "assistant"}


class RedisHistories(Library):
    """``RedisChatMessageHistory`` of langchain-community, one object for each request, as its users make them.

    It has no limit: whoever wants the newest few reads the whole list.
    """

    async def start(self, surroundings: Surroundings) -> None:
        """Keep the address; every history connects for itself."""
        from langchain_community.chat_message_histories import RedisChatMessageHistory

        self._class = RedisChatMessageHistory
        self._url = surroundings.redis

    async def append(self, user: str, session: str, messages: list[Message]) -> None:  # noqa: ARG002
        """Add to the chat's history."""
        async with self._history(session) as history:
            await history.aadd_messages(_theirs(messages))

    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:  # noqa: ARG002
        """Read the chat's history."""
        async with self._history(session) as history:
            return self.newest(_ours(await history.aget_messages()), limit)

    async def delete(self, user: str, session: str) -> None:  # noqa: ARG002
        """Clear the chat's history."""
        async with self._history(session) as history:
            await history.aclear()

    @asynccontextmanager
    async def _history(self, session: str) -> AsyncIterator[Any]:
        history = await asyncio.to_thread(self._class, session, self._url)
        try:
            yield history
        finally:
            await asyncio.to_thread(history.redis_client.close)


class PostgresThreads(Library):
    """LangGraph with ``AsyncPostgresSaver``: a graph that answers one message, a thread for each chat.

    An append is one ``ainvoke`` of the thread: what the user says is the input, the graph's one node gives the reply
    that a model would, and the reducer of ``MessagesState`` adds both to what the thread's newest checkpoint holds.
    """

    async def start(self, surroundings: Surroundings) -> None:
        """Connect, create the tables, compile the graph."""
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from langgraph.graph import END, START, MessagesState, StateGraph
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool

        self._open = AsyncExitStack()
        # As the checkpointer's documentation wants connections that it is given.
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        pool = AsyncConnectionPool(surroundings.postgres, min_size=1, max_size=20, kwargs=options, open=False)
        self._saver = AsyncPostgresSaver(await self._open.enter_async_context(pool))
        await self._saver.setup()
        graph = StateGraph(MessagesState, context_schema=dict)
        graph.add_node("answer", _answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        self._graph = graph.compile(checkpointer=self._saver)

    async def append(self, user: str, session: str, messages: list[Message]) -> None:  # noqa: ARG002
        """Invoke the chat's thread."""
        said = [message for message in messages if message.role != "assistant"]
        replies = [message for message in messages if message.role == "assistant"]
        await self._graph.ainvoke({"messages": _theirs(said)}, _thread(session), context={"reply": _theirs(replies)})

    async def history(self, user: str, session: str, limit: int | None) -> Sequence[Message]:  # noqa: ARG002
        """The messages in the thread's newest checkpoint."""
        state = await self._graph.aget_state(_thread(session))
        return self.newest(_ours(state.values.get("messages", [])), limit)

    async def delete(self, user: str, session: str) -> None:  # noqa: ARG002
        """Delete the chat's thread."""
        await self._saver.adelete_thread(session)

    async def close(self) -> None:
        """Disconnect."""
        await self._open.aclose()


async def _answer(_state: Any, runtime: Any) -> dict[str, Any]:
    return {"messages": runtime.context["reply"]}


def _thread(session: str) -> Any:
    return {"configurable": {"thread_id": session}}


def _theirs(messages: Sequence[Message]) -> Any:
    from langchain_core.messages import convert_to_messages

    return convert_to_messages([{"role": said.role, "content": said.text, "id": said.id} for said in messages])


def _ours(messages: Sequence[Any]) -> list[Message]:
    return [Message(_ROLES.get(said.type, said.type), said.content, said.id or "") for said in messages]
