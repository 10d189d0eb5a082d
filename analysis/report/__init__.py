"""One judged run as one HTML file: ``render(Report(…))``; ``model`` says what a report is made of."""

from analysis.report.model import Report
from analysis.report.render import render

__all__ = ["Report", "render"]
