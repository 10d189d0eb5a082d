"""Mappings: a memory's HTTP interface described by a TOML file, without code.

``file`` is what may be written, ``template`` and ``select`` compile it, ``mapped`` is the target made of it, and
``mistakes`` tells which line of it is wrong.
"""
