"""Small servers that follow the published interfaces of memory products, so that their mappings can be tested offline.

Each keeps everything in memory, is sound (one event loop, and no handler waits between reading and writing), and is
stricter than what it stands in for: a field, a parameter or a value that the interface does not know is refused, so
that a mapping that is wrong in any of them fails. What each of them leaves out is told at its top.

Run one by hand with ``python -m tests.targets.standins.openai_conversations --port 8001``.
"""
