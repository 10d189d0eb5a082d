"""The proof from end to end, for one batch of conversations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.batches import Batch, Conversations
from analysis.check import Known
from analysis.columns import Ints
from analysis.proof.features import Mask, understood, unusual, without
from analysis.proof.lists import Lists, disordered, first_runs, read_lists
from analysis.proof.messages import Messages, read_messages
from analysis.proof.owed import Verdicts, weigh
from goldfish.contract import Contract
from goldfish.rule import SOUND, UNCHECKED


@dataclass(slots=True)
class Proof:
    """What is proven of a batch. All but ``suspect`` speaks of the plain conversations only."""

    batch: Batch
    """Its rows without those of conversations that are not plain."""
    suspect: Mask
    """By conversation: not proven, for the slow path."""
    messages: Messages
    lists: Lists
    verdicts: Verdicts
    shown: Ints
    """By message: end of the first recall to end that shows it; ``messages.never`` if none does."""
    plain: Mask
    """By conversation: nothing but losses can be found in it, and what ``verdicts`` calls sound is."""

    def known(self, number: int) -> Known | None:
        """What is proven of a conversation though it is suspect; None if that is nothing."""
        if not self.plain[number]:
            return None
        first, end = np.searchsorted(self.lists.conversation, (number, number + 1)).tolist()
        lines = self.batch.tables["recall"]["line"][self.lists.row[first:end]].tolist()
        sound, checked = self.verdicts.sound[first:end].tolist(), self.verdicts.checked[first:end].tolist()
        return Known(
            {
                line + 1: SOUND if is_checked else UNCHECKED
                for line, is_sound, is_checked in zip(lines, sound, checked, strict=True)
                if is_sound
            }
        )


def prove(batch: Batch, conversations: Conversations, contract: Contract, barred: Mask) -> Proof | None:
    """Prove what can be proven of a batch; None if nothing can.

    Args:
        batch: some conversations.
        conversations: all of the share.
        contract: what was promised.
        barred: conversations of the batch that the slow path has to judge in any case.
    """
    if not understood(contract):
        return None
    suspect = barred | unusual(batch, conversations, contract)
    batch = without(batch, suspect)
    messages = read_messages(batch, conversations, suspect)
    if suspect[batch.tables["append"]["conversation"]].any():
        batch = without(batch, suspect)
        messages = read_messages(batch, conversations, suspect)
    lists = read_lists(batch, conversations, messages, suspect)
    if suspect[lists.conversation].any() or suspect[batch.tables["append"]["conversation"]].any():
        batch = without(batch, suspect)
        messages = read_messages(batch, conversations, suspect)
        lists = read_lists(batch, conversations, messages, suspect)

    first_run = first_runs(lists, messages)
    shown = np.append(lists.end[lists.recall], messages.never)[first_run]
    stored = np.minimum(messages.acked, shown)
    # A rejected message that is shown is a finding.
    suspect[messages.author_conversation[messages.author[messages.failed & (shown < messages.never)]]] = True
    disordered(lists, messages, first_run, stored, suspect)
    plain = ~suspect
    verdicts = weigh(batch, lists, messages, stored, contract)
    plain[lists.conversation[verdicts.overlong]] = False
    suspect[lists.conversation[~verdicts.sound]] = True
    return Proof(batch, suspect, messages, lists, verdicts, shown, plain)
