"""All symptoms of a run as one sum."""

from __future__ import annotations

from analysis.check import Checked
from analysis.proof.proven import Proven
from analysis.symptoms.by_class import ByClass
from analysis.symptoms.disorder import Disorder
from analysis.symptoms.failures import Failures
from analysis.symptoms.lists import Lists
from analysis.symptoms.pairs import Pairs
from analysis.symptoms.sample import Sample
from analysis.symptoms.stored import Stored
from analysis.symptoms.traits import Traits
from analysis.symptoms.vanishing import Vanishing


class Symptoms:
    """See the modules of the parts."""

    def __init__(self, start_ns: int) -> None:
        self.by_class = ByClass()
        self.failures = Failures()
        self.pairs = Pairs()
        self.traits = Traits()
        self.lists = Lists()
        self.vanishing = Vanishing(start_ns)
        self.disorder = Disorder()
        self.stored = Stored()
        self.sample = Sample()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        for part in vars(self).values():
            part.add(checked)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound; the other parts count what is not."""
        for part in (self.failures, self.pairs, self.traits, self.lists, self.vanishing):
            part.add_proven(proven)

    def merge(self, other: Symptoms) -> None:
        """Take in another share."""
        for name, part in vars(self).items():
            part.merge(vars(other)[name])
