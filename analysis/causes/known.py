"""The causes that can be named, one entry each: what it is, how it shows, and where to look."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """One cause."""

    code: str
    anomaly: str
    """The class of findings it explains."""
    title: str
    """In plain words; what a run tells more exactly is put in its place."""
    shows: str
    """How it is told from others."""
    remedy: str


KNOWN: dict[str, Known] = {
    entry.code: entry
    for entry in (
        Known(
            "own-copies",
            "missing",
            "Each instance serves a copy of its own, which does not see what other instances wrote",
            "missing where one instance wrote and another read, never where the same one did both",
            "Look at caches inside the service's processes: share them, or validate a copy against the store before it "
            "is served. A balancer that sticks hides this from one device only.",
        ),
        Known(
            "split-memory",
            "missing",
            "Instances do not share one memory: kept in the process, or stored under different keys",
            "some pairs of instances never see each other's messages, however old",
            "Look at where each instance stores and by which key it looks: configuration, key scheme, version. Nothing "
            "that must outlive a request belongs into a process.",
        ),
        Known(
            "late-reads",
            "missing",
            "Reads are behind writes",
            "missing while young and shown for good afterwards, whichever instance reads",
            "Look at replicas, queues and indexes between write and read: read from the primary after a write, or "
            "acknowledge when it is visible. If the delay is meant, promise it: visibility_ms.",
        ),
        Known(
            "incomplete-reads",
            "missing",
            "Reads are incomplete now and then",
            "missing in one recall and shown in others, before and after, at any age and through any instance",
            "Look at what a read puts together: pages, shards and timeouts that cut it short, errors that are taken "
            "for an empty answer.",
        ),
        Known(
            "lost-update",
            "missing",
            "Writers overwrite each other: read, append, write back without a lock",
            "lost for good when another append of the conversation was under way, one of the two",
            "Look at how an append reaches the store: append atomically, or hold a lock (or compare a version) over "
            "read and write.",
        ),
        Known(
            "smaller-window",
            "missing",
            "The window is smaller than promised",
            "only the oldest are missing, and lists never grow beyond a length or a size",
            "Look at every limit between store and answer: page size, list trim, token budget. If the service pages, "
            "have all pages read: [recall] paging in the target file. If the limit is meant, promise it: window.",
        ),
        Known(
            "first-page",
            "missing",
            "Lists stop after the oldest messages: a page is taken for the whole list",
            "only the newest are missing, everything older is there, and lists never grow beyond a length",
            "If the service pages, have all pages read, or the newest asked for: [recall] paging, and the limit or the "
            "order of the request, in the target file. If lists are whole, look at what keeps the store from taking "
            "more. A promise of page = {default = N} is one of the newest N, and does not excuse it.",
        ),
        Known(
            "expired-early",
            "missing",
            "What was said expires earlier than promised",
            "gone after a pause of a certain length, or at a certain age",
            "Look at expiry times in every store and cache on the way, and at what refreshes them. If it is meant, "
            "promise it: ttl.",
        ),
        Known(
            "lost-at-once",
            "missing",
            "Much was lost at one moment: a crash, a restart or a flush",
            "had been shown and is gone from one moment on, or was acknowledged shortly before it",
            "Look at what happened to the service and its stores at that moment. Acknowledge only what would survive a "
            "crash; keep nothing but copies in what may be flushed.",
        ),
        Known(
            "disappearing",
            "missing",
            "What had been stored disappears: evicted, trimmed or overwritten",
            "had been shown and is gone, at no special moment, age or length",
            "Look at limits of size and memory in every store on the way, and at what rewrites a history whole.",
        ),
        Known(
            "never-stored",
            "missing",
            "Writes are acknowledged and not stored",
            "never shown by any recall, with no other writer at work; often all of one role, size or instance",
            "Look for errors that are swallowed between the answer and the store, and at filters and limits on what is "
            "stored. Acknowledge after commit.",
        ),
        Known(
            "struck",
            "missing",
            "Losses came with faults",
            "recalls under way in a fault, or that lack what was lost in one, are lossy oftener than others",
            "Look at what the deployment does when this part fails: what it acknowledges meanwhile, what it retries, "
            "what it takes over.",
        ),
        Known(
            "no-idempotency",
            "duplicated",
            "A message that is sent again is stored again",
            "duplicates are of messages that were sent in several attempts",
            "Take the message id as the idempotency key.",
        ),
        Known(
            "merged-copies",
            "duplicated",
            "Several copies of a history are put together without comparing ids",
            "duplicates are of messages that were sent once",
            "Look at caches, shards and retries inside the service that are merged or replayed.",
        ),
        Known(
            "wider-window",
            "window overrun",
            "Lists show more than the declared window: it is declared too small, or not kept",
            "lists have more than the contract allows, and no more than the request asked for",
            "Leave out [contract] window or page, or raise it, if the memory may show more. If it may not, look at "
            "where lists are cut: after the newest message is added, and by every instance.",
        ),
        Known(
            "limit-ignored",
            "window overrun",
            "The limit of a request is not kept",
            "lists have more than the request asked for",
            "Look at whether the limit reaches the service ({limit} in the target file) under the name it knows, and "
            "whether a limit of 0 is taken for none.",
        ),
        Known(
            "batch-order",
            "reordered",
            "Messages of one append do not keep their order",
            "inversions are inside one append",
            "Number the messages of a batch before they are stored, and order by that number.",
        ),
        Known(
            "order-by-timestamp",
            "reordered",
            "The order is that of timestamps, which are coarse or of several clocks",
            "inversions are between devices or instances, and not far apart",
            "Order by a sequence that the store assigns, not by a clock.",
        ),
        Known(
            "no-order",
            "reordered",
            "Nothing keeps the order in which messages were stored",
            "inversions are between messages that one device sent through one instance",
            "Order by a sequence that the store assigns; look for queries without an order.",
        ),
        Known(
            "length-limit",
            "corrupted",
            "Contents are cut at a length",
            "changed messages are cut, the long ones",
            "Reject what is too long to be stored, or store it whole.",
        ),
        Known(
            "altered-content",
            "corrupted",
            "Contents are rewritten on the way: encoding, escaping or cleaning",
            "changed messages are altered, often those with other characters than ASCII",
            "Store what was said byte for byte, in UTF-8; clean up when it is shown.",
        ),
        Known(
            "altered-role",
            "corrupted",
            "Roles are mapped to others",
            "changed messages have another role",
            "Store the role as it was sent; reject roles that are not supported.",
        ),
        Known(
            "shared-state",
            "foreign",
            "An instance keeps state between requests and mixes up whose it is",
            "foreign messages are listed by one instance of several, or now and then",
            "Keep nothing in a process between requests: no module variables, no reused buffers, no client with a user "
            "in it.",
        ),
        Known(
            "key-too-short",
            "foreign",
            "A key leaves out whose history it is",
            "foreign messages are listed by all instances, and every time",
            "Put tenant, user and session into every key and every query, in caches, too.",
        ),
        Known(
            "stored-before-validated",
            "phantom",
            "What is refused is stored all the same",
            "rejected messages are listed",
            "Validate before storing, in one transaction with the answer.",
        ),
        Known(
            "left-over",
            "phantom",
            "Data of earlier runs turns up under reused ids",
            "listed elements carry the token of another run",
            "Never reuse ids; delete by the whole key.",
        ),
        Known(
            "own-elements",
            "phantom",
            "The memory lists elements of its own",
            "listed elements carry no token",
            "If system prompts or summaries are meant to be listed, promise it: unmarked = 'allow'.",
        ),
    )
}
