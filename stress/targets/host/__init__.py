"""The host: puts a memory library, which lives in a program's own process, behind several instances and a balancer.

A library alone cannot be asked over HTTP, and in one process it never meets the concurrency that loses messages. So
each instance of an embedded deployment loads it, and serves it in the HTTP interface of docs/http-interface.md::

    balancer ──► instance m1 ─ LibraryStore ─ your plug ─ the library ─┐
            └──► instance m2 ─ LibraryStore ─ your plug ─ the library ─┴─► one Redis, one PostgreSQL, one folder

``library`` is what a plug is written against (``from goldfish import Library, Message, Surroundings``), ``hosted``
declares which plug is meant, without importing it, and ``store`` runs in the instances.
"""
