"""Agreement between raters, people or machines, from labels or from counts. Imports nothing of Django.

Every statistic returns a ``Figure``: a value with its interval and numbers, or a reason why there is none.
"""

from judging.agreement.alpha import LEVELS, Level, alpha, alpha_counts
from judging.agreement.alternative_annotator import AlternativeTest, PersonTest, alternative_annotator_test
from judging.agreement.chance import WEIGHTS, Weights
from judging.agreement.comparisons import Comparison, adjusted, compare
from judging.agreement.confusion import CrossTable, ValueReport, macro_f1, value_reports
from judging.agreement.consensus import (
    PREFERENCES,
    Preference,
    majority,
    majority_preference,
    plurality,
    preference_from_mean,
    preference_from_scores,
    round_half_up,
    rounded_mean,
)
from judging.agreement.correlation import COEFFICIENTS, per_instruction, pooled, system_level
from judging.agreement.estimate import PredictionPowered, prediction_powered_mean, rogan_gladen
from judging.agreement.gwet import ac1, ac2, brennan_prediger
from judging.agreement.icc import icc
from judging.agreement.intervals import METHODS, Method, alpha_with_interval, skew_warning, with_interval
from judging.agreement.judges import (
    DIRECT_MARGIN,
    PAIRWISE_MARGIN,
    Effect,
    Stability,
    changed_with_order,
    checklist_effect,
    direct_agreement,
    item_effect,
    stability,
)
from judging.agreement.kappa import cohen, conger, fleiss
from judging.agreement.labels import Label, Value
from judging.agreement.missing import ANSWER_STATES, MISSING_POLICIES, AnswerState, MissingPolicy
from judging.agreement.pass_rate import PassRates, Tally, pass_rate, pass_rates, tally
from judging.agreement.patterns import Histogram, Pattern
from judging.agreement.people import MEASURES, Ceiling, Measure, Panel, leave_one_out_ceiling, panel_of
from judging.agreement.percent import percent_agreement, prevalence
from judging.agreement.pld import PreferenceDistance, accuracy, pld, pld_between_people
from judging.agreement.ranking import Match, Tournament, bradley_terry, elo, matches_from_scores, system_means
from judging.agreement.replacement import JointHistogram, JointPattern, alpha_difference, replacement_effect
from judging.agreement.result import Figure
from judging.agreement.rocketeval import (
    combined_score,
    supervised_scores,
    supervision_weight,
    unsupervised_score,
)
from judging.agreement.selective import (
    Point,
    paired_difference,
    score_inconsistency,
    selective_curve,
    vote_credit,
    vote_inconsistency,
)
from judging.agreement.weighted import Coefficient

__all__ = [
    "ANSWER_STATES",
    "COEFFICIENTS",
    "DIRECT_MARGIN",
    "LEVELS",
    "MEASURES",
    "METHODS",
    "MISSING_POLICIES",
    "PAIRWISE_MARGIN",
    "PREFERENCES",
    "WEIGHTS",
    "AlternativeTest",
    "AnswerState",
    "Ceiling",
    "Coefficient",
    "Comparison",
    "CrossTable",
    "Effect",
    "Figure",
    "Histogram",
    "JointHistogram",
    "JointPattern",
    "Label",
    "Level",
    "Match",
    "Measure",
    "Method",
    "MissingPolicy",
    "Panel",
    "PassRates",
    "Pattern",
    "PersonTest",
    "Point",
    "PredictionPowered",
    "Preference",
    "PreferenceDistance",
    "Stability",
    "Tally",
    "Tournament",
    "Value",
    "ValueReport",
    "Weights",
    "ac1",
    "ac2",
    "accuracy",
    "adjusted",
    "alpha",
    "alpha_counts",
    "alpha_difference",
    "alpha_with_interval",
    "alternative_annotator_test",
    "bradley_terry",
    "brennan_prediger",
    "changed_with_order",
    "checklist_effect",
    "cohen",
    "combined_score",
    "compare",
    "conger",
    "direct_agreement",
    "elo",
    "fleiss",
    "icc",
    "item_effect",
    "leave_one_out_ceiling",
    "macro_f1",
    "majority",
    "majority_preference",
    "matches_from_scores",
    "paired_difference",
    "panel_of",
    "pass_rate",
    "pass_rates",
    "per_instruction",
    "percent_agreement",
    "pld",
    "pld_between_people",
    "plurality",
    "pooled",
    "prediction_powered_mean",
    "preference_from_mean",
    "preference_from_scores",
    "prevalence",
    "replacement_effect",
    "rogan_gladen",
    "round_half_up",
    "rounded_mean",
    "score_inconsistency",
    "selective_curve",
    "skew_warning",
    "stability",
    "supervised_scores",
    "supervision_weight",
    "system_level",
    "system_means",
    "tally",
    "unsupervised_score",
    "value_reports",
    "vote_credit",
    "vote_inconsistency",
    "with_interval",
]
