"""Measurements, side by side with what one would do otherwise: ``make bench``."""
