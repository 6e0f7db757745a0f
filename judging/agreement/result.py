"""What a statistic returns: a value with everything that is needed to judge it."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One statistic of one data set.

    Exactly one of ``value`` and ``reason`` is set: a statistic that cannot be computed is undefined and says
    why, it is never nan, 0 or 1.

    name      what was measured, in words ("alpha (ordinal)")
    value     the point estimate, finite
    low, high the limits of the interval; both or neither
    level     confidence of the interval in (0, 1)
    method    name of the method that made the interval
    seed      seed of the method; None where it draws nothing
    n_units   units that entered the figure
    n_labels  labels that entered the figure (pairable ones, for a measure of agreement)
    missing   units that could not enter it, for want of labels
    reason    why there is no value, one sentence
    warning   what a reader must know before he trusts the value or the interval
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str | None = None
    seed: int | None = None
    n_units: int = 0
    n_labels: int = 0
    missing: int = 0
    reason: str | None = None
    warning: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"{self.name}: a figure has either a value or a reason why it has none.")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name}: an interval has two limits.")
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{self.name}: {number} is not a finite number.")

    @property
    def defined(self) -> bool:
        return self.value is not None

    def warned(self, *sentences: str | None) -> "Figure":
        """The same figure with these sentences added to its warning; None is passed over."""
        said = [sentence for sentence in (self.warning, *sentences) if sentence]
        return replace(self, warning=" ".join(said) or None)

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain JSON values."""
        return asdict(self)
