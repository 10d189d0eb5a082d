"""Transcripts in, verdicts out; reads only the run directory."""
