"""The reference memory service: an aiohttp application on PostgreSQL and Redis, with defects that can be switched on.

Several instances serve one memory, each its own process (``python -P -m stress.memory --config FILE``). A request
takes this way::

    routes ── which resource, whose ──► service ── read and checked ──► store ──► PostgreSQL, Redis
                                           │                             │
                                        metrics                 sound line │ broken line

``registry`` declares which stores and defects exist; it is plain data, so listing them starts nothing. ``store`` is the
interface every store implements, and ``stores/`` holds one file for each.
"""
