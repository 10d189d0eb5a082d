"""Writes a first ``memory.toml`` and ``goldfish.toml`` for a target, to be corrected by a person.

A mapping comes from a shipped product, from an OpenAPI document, or from nothing (then it is that of the reference
interface, with everything else that could be said beside it). What is guessed is a line with its reason; where the
reason is weak the comment starts with ``?``. Whatever is written can be loaded; ``goldfish probe`` finds what is wrong.
"""
