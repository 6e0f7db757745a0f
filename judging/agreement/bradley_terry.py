"""The maximum likelihood of Bradley & Terry (1952), for many win tables at once."""

import numpy as np
from numpy.typing import NDArray

from judging.agreement.resampling import FloatArray

LONGEST_STEP = 2.0
TOLERANCE = 1e-10
MOST_STEPS = 200


def log_strengths(wins: FloatArray) -> FloatArray:
    """(tables, systems): log strengths with mean 0 from wins (tables, systems, systems) of row over column.

    Every table must be strongly connected (see ``strongly_connected``), otherwise there is no maximum.
    Newton's method on the concave likelihood, with limited steps so that a lopsided table cannot throw it
    off.
    """
    tables, size, _ = wins.shape
    played = wins + wins.transpose(0, 2, 1)
    won = wins.sum(axis=2)
    strengths = np.zeros((tables, size))
    active = np.arange(tables)
    for _ in range(MOST_STEPS):
        expected = 1.0 / (1.0 + np.exp(strengths[active][:, None, :] - strengths[active][:, :, None]))
        gradient = won[active] - (played[active] * expected).sum(axis=2)
        information = -played[active] * expected * (1.0 - expected)
        diagonal = np.arange(size)
        information[:, diagonal, diagonal] = -information.sum(axis=2)
        # Strengths are known up to a constant; this term fixes their sum at 0.
        information += np.maximum(information[:, diagonal, diagonal].mean(axis=1), 1e-12)[:, None, None] / size
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1)
        strengths[active] += step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
        active = active[longest > TOLERANCE]
        if not active.size:
            break
    centred: FloatArray = strengths - strengths.mean(axis=1, keepdims=True)
    return centred


def strongly_connected(wins: FloatArray) -> NDArray[np.bool_]:
    """(tables,): whether everyone is linked with everyone by wins in both directions (Ford 1957)."""
    size = wins.shape[-1]
    reach = ((wins > 0) | np.eye(size, dtype=bool)).astype(np.float32)
    steps = 1
    while steps < size:
        reach = (np.matmul(reach, reach) > 0).astype(np.float32)
        steps *= 2
    return np.asarray(reach.all(axis=(1, 2)))
