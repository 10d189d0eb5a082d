"""Targets that come with goldfish: a TOML file each, and for libraries the module with its plug."""
