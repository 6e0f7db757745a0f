"""Agreement between raters, people or machines, from labels or from counts. Imports nothing of Django."""

from judging.agreement.alpha import LEVELS, Level, alpha, alpha_counts
from judging.agreement.intervals import METHODS, Method, alpha_with_interval, skew_warning, with_interval
from judging.agreement.labels import Label, Value
from judging.agreement.patterns import Histogram, Pattern
from judging.agreement.percent import percent_agreement, prevalence
from judging.agreement.result import Figure

__all__ = [
    "LEVELS",
    "METHODS",
    "Figure",
    "Histogram",
    "Label",
    "Level",
    "Method",
    "Pattern",
    "Value",
    "alpha",
    "alpha_counts",
    "alpha_with_interval",
    "percent_agreement",
    "prevalence",
    "skew_warning",
    "with_interval",
]
