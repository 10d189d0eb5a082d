"""How late messages were, in a few quantiles."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np


class Delay(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds after the acknowledgement."""

    p50: float
    p95: float
    max: float


def delay(values_ms: Sequence[float]) -> Delay | None:
    """Quantiles of some delays; None if there are none."""
    if not values_ms:
        return None
    p50, p95, most = np.quantile(np.array(values_ms), (0.5, 0.95, 1.0))
    return Delay(p50=round(float(p50), 3), p95=round(float(p95), 3), max=round(float(most), 3))
