"""What people read in the sources of the hosted libraries; the page docs/shipped-products.md shows it beside what was
measured.

Reading explains a result, or says how far it reaches; it proves none. Every statement names the file that it rests on
and quotes it word for word, so that a test notices when a newer version says something else.
"""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    """One thing that a source says."""

    says: str
    file: str
    """As it lies in the installed package, such as ``langgraph/pregel/_loop.py``."""
    quotes: tuple[str, ...]
    """What stands there; white space counts as one blank."""


class Reading(NamedTuple):
    """What was read about one target."""

    versions: dict[str, str]
    """The distributions as they were read."""
    hosting: str
    """How the library is used, where that bears on the result."""
    statements: tuple[Statement, ...]
    follows: str
    """What follows from them for what is said at the same time."""
    untested: tuple[str, ...]
    """What the library offers and no run here touches."""


_TWO_SESSIONS = (
    "Every message is added to two sessions of the SDK, that of the chat and that of the user, each with one call of "
    "`add_items`; `reconnect` reads the user's. An SDK session object is made for every request, as a web service does."
)
_AGENTS_UNTESTED = (
    "`pop_item`, limits set by `session_settings`, compaction, encrypted sessions",
    "the SDK's runner: items are stored and read directly, no model is asked",
)

READINGS: dict[str, Reading] = {
    "openai-agents-sqlite": Reading(
        versions={"openai-agents": "0.24.0"},
        hosting=_TWO_SESSIONS + " All instances open the same file.",
        statements=(
            Statement(
                "The items of one call are inserted and committed in one transaction; the history is not read before.",
                "agents/memory/sqlite_session.py",
                (
                    "with self._write_connection() as conn: self._insert_items(conn, items) conn.commit()",
                    "INSERT INTO {self.messages_table} (session_id, message_data) VALUES (?, ?)",
                ),
            ),
            Statement(
                "The order is that of a number which the database counts up.",
                "agents/memory/sqlite_session.py",
                ("id INTEGER PRIMARY KEY AUTOINCREMENT", "ORDER BY id ASC"),
            ),
            Statement(
                "Its own lock holds within one process. Between processes there is SQLite's, with a write-ahead log; "
                "the connection is opened without a `timeout`, so Python's default of five seconds holds, after which "
                "a writer that waits raises.",
                "agents/memory/sqlite_session.py",
                (
                    "_file_locks: ClassVar[dict[Path, threading.RLock]] = {}",
                    'conn.execute("PRAGMA journal_mode=WAL")',
                    "connection = sqlite3.connect( str(self.db_path), check_same_thread=False, )",
                ),
            ),
        ),
        follows="Writers wait for each other and none overwrites another; one that waits too long fails with "
        "an error, not silently.",
        untested=(*_AGENTS_UNTESTED, "the session in memory, which is the default and ends with its process"),
    ),
    "openai-agents-sqlalchemy": Reading(
        versions={"openai-agents": "0.24.0"},
        hosting=_TWO_SESSIONS + " The sessions of an instance share one engine.",
        statements=(
            Statement(
                "A call locks the session's row, or inserts it, and then inserts its items, in one transaction.",
                "agents/extensions/memory/sqlalchemy_session.py",
                (
                    "await self._lock_session(sess, create=True)",
                    "locked = await sess.execute(parent.with_for_update())",
                    "await sess.execute(insert(self._messages), payload)",
                ),
            ),
            Statement(
                "The order is that of `created_at`, then of the number. On PostgreSQL `CURRENT_TIMESTAMP` is when the "
                "transaction began, which is before it waited for the lock.",
                "agents/extensions/memory/sqlalchemy_session.py",
                (
                    '"created_at", TIMESTAMP(timezone=False), server_default=sql_text("CURRENT_TIMESTAMP")',
                    ".order_by( self._messages.c.created_at.asc(), self._messages.c.id.asc(), )",
                ),
            ),
        ),
        follows="None overwrites another. Of two appends at the same time, the one that is acknowledged last may be "
        "listed first, which the contract allows: which of the two came first is nobody's promise.",
        untested=(*_AGENTS_UNTESTED, "MySQL and MariaDB, and SQLite through SQLAlchemy"),
    ),
    "openai-agents-redis": Reading(
        versions={"openai-agents": "0.24.0"},
        hosting=_TWO_SESSIONS + " The sessions of an instance share one client.",
        statements=(
            Statement(
                "The items of one call are pushed to the end of a list by one command, in a transaction that begins "
                "anew if a key of the session changed meanwhile.",
                "agents/extensions/memory/redis_session.py",
                (
                    "await pipe.watch(*keys)",
                    "pipe.multi()",
                    "pipe.rpush(self._messages_key, *serialized_items)",
                    "if outcome.retryable_watch_conflict: continue",
                ),
            ),
            Statement(
                "The list is read whole, or from its end.",
                "agents/extensions/memory/redis_session.py",
                (
                    "await self._redis.lrange(self._messages_key, 0, -1)",
                    "await self._redis.lrange(self._messages_key, -window, -1)",
                ),
            ),
        ),
        follows="None overwrites another, and in each session a turn is stored whole or not at all.",
        untested=(*_AGENTS_UNTESTED, "`ttl`", "Redis Cluster, which the session refuses"),
    ),
    "langchain-redis": Reading(
        versions={"langchain-community": "0.4.2", "langchain-core": "1.8.3"},
        hosting="A history object with a connection of its own is made for every request. It has no limit, so the "
        "newest few are cut from the whole list.",
        statements=(
            Statement(
                "A message is pushed to the list by one command; the list is not read before.",
                "langchain_community/chat_message_histories/redis.py",
                ("self.redis_client.lpush(self.key, json.dumps(message_to_dict(message)))",),
            ),
            Statement(
                "Several messages are pushed one after the other: a turn of two is two commands.",
                "langchain_core/chat_history.py",
                ("for message in messages: self.add_message(message)",),
            ),
            Statement(
                "The whole list is read by one command and turned around.",
                "langchain_community/chat_message_histories/redis.py",
                ("_items = self.redis_client.lrange(self.key, 0, -1)", "for m in _items[::-1]"),
            ),
        ),
        follows="None overwrites another. But a turn is not atomic: it can be seen half, stand between the messages of "
        "another device, and stay half if the process dies in between. The contract holds it to what was acknowledged.",
        untested=("`ttl`, which is set anew by a second command after every push", "the methods without `async`"),
    ),
    "llama-index-redis": Reading(
        versions={"llama-index-storage-chat-store-redis": "0.8.0"},
        hosting="Messages are added one by one with `async_add_message`, for the store has no method for several. It "
        "has no limit, so the newest few are cut from the whole list.",
        statements=(
            Statement(
                "A message is pushed to the end of the list by one command; the list is not read before.",
                "llama_index/storage/chat_store/redis/base.py",
                ("await self._aredis_client.rpush(key, message.model_dump_json())",),
            ),
            Statement(
                "The whole list is read by one command.",
                "llama_index/storage/chat_store/redis/base.py",
                ("items = await self._aredis_client.lrange(key, 0, -1)",),
            ),
            Statement(
                "`set_messages` deletes the list and pushes every message again, by several commands without a "
                "transaction; adding at an index reads the list and then does the same. No run here calls them.",
                "llama_index/storage/chat_store/redis/base.py",
                (
                    "for message in messages: await self.async_add_message(key, message)",
                    "current_list.insert(index, message)",
                ),
            ),
            Statement(
                "Deleting one message by its index deletes the list and pushes the others to its front, one after the "
                "other, so that they stand in the reverse order afterwards. No run here does it.",
                "llama_index/storage/chat_store/redis/base.py",
                ("await self._aredis_client.delete(key) await self._aredis_client.lpush(key, *current_list)",),
            ),
        ),
        follows="By pushes alone, none overwrites another; a turn of two messages is not atomic. A memory that stores "
        "with `set_messages` is another matter.",
        untested=(
            "`aset_messages`, adding at an index, deleting one message",
            "`ttl`",
            "LlamaIndex's memory classes, which sit on top of a store",
            "the methods without `async`",
        ),
    ),
    "langgraph-postgres": Reading(
        versions={"langgraph": "1.2.24", "langgraph-checkpoint-postgres": "3.2.0"},
        hosting="An append is one `ainvoke` of the chat's thread, of a graph with one node that gives the reply; a "
        "recall is `aget_state`. Both devices of `two-devices` invoke the same thread.",
        statements=(
            Statement(
                "A run begins by reading the thread's newest checkpoint, once.",
                "langgraph/pregel/_loop.py",
                (
                    "# Normal case: fetch the most recent checkpoint for this # graph/thread.",
                    "saved = await self.checkpointer.aget_tuple(self.checkpoint_config)",
                ),
            ),
            Statement(
                "The newest is the one with the highest id.",
                "langgraph/checkpoint/postgres/aio.py",
                ("WHERE thread_id = %s AND checkpoint_ns = %s ORDER BY checkpoint_id DESC LIMIT 1",),
            ),
            Statement(
                "A checkpoint is stored under an id of its own, with its parent's id beside it. No condition asks "
                "whether the parent is still the newest.",
                "langgraph/checkpoint/postgres/base.py",
                (
                    "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,",
                    (
                        "ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET "
                        "checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata;"
                    ),
                ),
            ),
            Statement(
                "Every checkpoint points to a version of the whole list of messages.",
                "langgraph/checkpoint/postgres/base.py",
                ("and bl.version = jsonb_each_text.value",),
            ),
        ),
        follows="Two runs that begin from the same checkpoint fork the thread: each stores its own list, and whoever "
        "reads the newest checkpoint sees one of the two. The other's messages are still in the table, below an older "
        "checkpoint, but no longer in the conversation. LangGraph's documentation calls this double texting, says that "
        "its strategies belong to the Agent Server, and that the open-source library has none "
        "(<https://docs.langchain.com/langsmith/double-texting>). So its makers break no promise; a service that "
        "invokes threads itself has to see to it that a thread has one run at a time, over all processes.",
        untested=(
            "other checkpointers, and the Agent Server, which queues runs",
            "`update_state`, streams, interrupts, subgraphs, the store for memories across threads",
        ),
    ),
}
