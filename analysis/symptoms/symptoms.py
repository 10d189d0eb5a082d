"""All symptoms of a run as one sum."""

from __future__ import annotations

from analysis.check import Checked
from analysis.proof.proven import Proven
from analysis.symptoms.by_class import ByClass
from analysis.symptoms.disorder import Disorder
from analysis.symptoms.failures import Failures
from analysis.symptoms.losses import Losses
from analysis.symptoms.sample import Sample
from analysis.symptoms.sampling import Sampling


class Symptoms:
    """See the modules of the parts."""

    def __init__(self, start_ns: int) -> None:
        self.conversations = 0
        """All that were judged."""
        self.by_class = ByClass()
        self.failures = Failures()
        self.disorder = Disorder()
        self.sample = Sample()
        self.sampling = Sampling(start_ns)

    def losses(self) -> Losses:
        """The circumstances of losses; of a disaster, in a sample of the conversations."""
        return self.sampling.losses()

    def add(self, checked: Checked) -> None:
        """Take in one judged conversation."""
        self.conversations += 1
        for part in (self.by_class, self.failures, self.disorder, self.sample, self.sampling):
            part.add(checked)

    def add_proven(self, proven: Proven) -> None:
        """Take in conversations that are proven sound; the other parts count what is not."""
        self.conversations += proven.size
        self.failures.add_proven(proven)
        self.sampling.add_proven(proven)

    def merge(self, other: Symptoms) -> None:
        """Take in another share."""
        self.conversations += other.conversations
        self.by_class.merge(other.by_class)
        self.failures.merge(other.failures)
        self.disorder.merge(other.disorder)
        self.sample.merge(other.sample)
        self.sampling.merge(other.sampling)
