from __future__ import annotations

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotate.models import Project, Round
from judging.agreement import Preference
from judging.cells import shown
from judging.costs import standings
from judging.live import Agreement
from judging.models import Judge, Run, Verdict
from judging.pairs import first_shown, preference_of
from judging.protocols import PROTOCOLS
from judging.runs import MOST_REPEATS

PINNED = "pinned"
COST = serializers.DecimalField(max_digits=20, decimal_places=10)


def _limit(**options: Any) -> serializers.DecimalField:
    return serializers.DecimalField(
        max_digits=10,
        decimal_places=4,
        min_value=Decimal(0),
        allow_null=True,
        help_text="US dollars that the run may cost in all; null for no limit.",
        **options,
    )


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    """A judge, without any part of its key."""

    class Meta:
        model = Judge
        fields = (
            "id",
            "name",
            "base_url",
            "model",
            "temperature",
            "top_p",
            "max_tokens",
            "timeout_seconds",
            "concurrency",
            "requests_per_minute",
            "tokens_per_minute",
            "input_price",
            "cached_input_price",
            "output_price",
            "hour_price",
            "abilities",
            "is_weak",
            "archived",
        )


class ProgressSerializer(serializers.Serializer[Any]):
    """Numbers of calls by state."""

    planned = serializers.IntegerField()
    leased = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    total = serializers.IntegerField()


class RunListSerializer(serializers.ListSerializer[Run]):
    """Runs, for which progress and cost are read together."""

    def to_representation(self, data: Any) -> list[Any]:
        listed = list(data)
        self.standings = standings(listed)
        return super().to_representation(listed)


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run with its progress and its cost so far, in US dollars."""

    checklists = serializers.SerializerMethodField(help_text="pinned (by the round), newest, or the name of a policy.")
    analysis = serializers.SerializerMethodField(help_text="Whether reasons are asked for before the verdict.")
    progress = serializers.SerializerMethodField()
    cost = serializers.SerializerMethodField()

    class Meta:
        model = Run
        list_serializer_class = RunListSerializer
        fields = (
            "id",
            "kind",
            "method",
            "judge",
            "round",
            "category",
            "language",
            "sample_size",
            "checklists",
            "repeats",
            "analysis",
            "spending_cap",
            "prompt_version",
            "seed",
            "state",
            "pause_reason",
            "created_at",
            "finished_at",
            "progress",
            "cost",
        )

    def to_representation(self, instance: Run) -> dict[str, Any]:
        together = self.parent.standings if isinstance(self.parent, RunListSerializer) else standings([instance])
        self.standing = together[instance.pk]
        return super().to_representation(instance)

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, run: Run) -> dict[str, int]:
        return self.standing.progress

    @extend_schema_field(COST)
    def get_cost(self, run: Run) -> str:
        return str(COST.to_representation(self.standing.cost))

    def get_checklists(self, run: Run) -> str:
        return run.checklist_policy or PINNED

    def get_analysis(self, run: Run) -> bool:
        return bool(run.options.get("analysis", True))


class NewRunSerializer(serializers.Serializer[Any]):
    """A judging run to be planned: which judge, by which protocol, on the units of a round or on items by a filter."""

    judge = serializers.PrimaryKeyRelatedField(queryset=Judge.objects.none())
    protocol = serializers.ChoiceField(choices=[(name, name) for name in PROTOCOLS])
    round = serializers.PrimaryKeyRelatedField(
        queryset=Round.objects.none(), allow_null=True, default=None, help_text="Without one, items are judged."
    )
    category = serializers.CharField(default="", allow_blank=True, max_length=100)
    language = serializers.CharField(default="", allow_blank=True, max_length=35)
    sample_size = serializers.IntegerField(
        min_value=1, max_value=1_000_000_000, allow_null=True, default=None, help_text="At most this many items."
    )
    checklists = serializers.CharField(
        default=PINNED, max_length=40, help_text="pinned (by the round), newest, or the name of a policy."
    )
    repeats = serializers.IntegerField(min_value=1, max_value=MOST_REPEATS, default=1)
    analysis = serializers.BooleanField(default=True, help_text="false asks for the verdict alone, where that can be.")
    spending_cap = _limit(default=None)

    def get_fields(self) -> dict[str, Any]:
        """Judges and rounds of other projects do not exist here."""
        fields = super().get_fields()
        project: Project | None = self.context.get("project")
        if project is not None:
            fields["judge"].queryset = project.judges.all()  # type: ignore[attr-defined]
            fields["round"].queryset = project.rounds.all()  # type: ignore[attr-defined]
        return fields

    @property
    def choice(self) -> dict[str, Any]:
        """What was chosen, for `runs.draft`."""
        chosen = dict(self.validated_data)
        checklists = chosen.pop("checklists")
        return {**chosen, "checklist_policy": "" if checklists == PINNED else checklists}


class MessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField()


class EstimateSerializer(serializers.Serializer[Any]):
    """What a run would send, and about what it would take; null where nothing tells."""

    calls = serializers.IntegerField()
    units = serializers.IntegerField()
    left_out = serializers.ListField(child=serializers.CharField(), help_text="What is left out and why, in sentences.")
    prompt = MessageSerializer(many=True, help_text="Of the first call.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField(allow_null=True)
    cached = serializers.FloatField(help_text="The share of calls that were answered before and cost nothing.")
    cost = serializers.DecimalField(max_digits=20, decimal_places=6, allow_null=True, help_text="About, in US dollars.")
    most_cost = serializers.DecimalField(max_digits=20, decimal_places=6, help_text="At most, in US dollars.")
    seconds = serializers.FloatField(allow_null=True)
    assumptions = serializers.ListField(child=serializers.CharField())


class RepeatsSerializer(serializers.Serializer[Any]):
    more = serializers.IntegerField(min_value=1, max_value=MOST_REPEATS, help_text="Times more to ask everything.")


class LimitSerializer(serializers.Serializer[Any]):
    spending_cap = _limit()


class RetriedSerializer(serializers.Serializer[Any]):
    retried = serializers.IntegerField(help_text="The number of failed calls that are planned again.")


class VerdictSerializer(serializers.ModelSerializer[Verdict]):
    """What the judge said about one unit. `unparsed` and `error` are no values, and never become one.

    Of a pair, `choice` is what was said in the order that was shown, and `preference` the same turned back.
    """

    item = serializers.CharField(source="response.item.external_id")
    response_id = serializers.IntegerField()
    system = serializers.CharField(source="response.system")
    other_id = serializers.IntegerField(allow_null=True, help_text="Of a pair: the response it was compared with.")
    other_system = serializers.CharField(source="other.system", allow_null=True, default=None)
    first_shown = serializers.SerializerMethodField(help_text="Of a pair: the id of the response that was shown first.")
    preference = serializers.SerializerMethodField(
        help_text="Of a pair: win where response_id is the better one, loss where other_id is, or tie."
    )
    question_id = serializers.IntegerField(allow_null=True)
    question = serializers.CharField(source="question.text", allow_null=True, default=None)
    reply = serializers.CharField(source="call.reply")
    error = serializers.CharField(source="call.error")

    class Meta:
        model = Verdict
        fields = (
            "id",
            "item",
            "response_id",
            "system",
            "other_id",
            "other_system",
            "question_id",
            "question",
            "repeat",
            "order",
            "first_shown",
            "state",
            "score",
            "choice",
            "preference",
            "reply",
            "error",
            "created_at",
        )

    def get_first_shown(self, verdict: Verdict) -> int | None:
        return first_shown(verdict.call)

    def get_preference(self, verdict: Verdict) -> Preference | None:
        return preference_of(verdict)


class FigureSerializer(serializers.Serializer[Any]):
    """A figure with its interval and its counts; `value` is null where it is undefined, and `reason` says why."""

    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    level = serializers.FloatField(allow_null=True)
    method = serializers.CharField(allow_null=True)
    seed = serializers.IntegerField(allow_null=True)
    n_units = serializers.IntegerField()
    n_labels = serializers.IntegerField()
    missing = serializers.IntegerField()
    reason = serializers.CharField(allow_null=True)
    warning = serializers.CharField(allow_null=True)


class AgreementSerializer(serializers.Serializer[Any]):
    """Agreement on the scores, or on the answers to all questions."""

    facet = serializers.CharField(source="facet.kind")
    alpha = FigureSerializer()
    percent = FigureSerializer()
    gwet = FigureSerializer(help_text="AC1 of answers, AC2 of scores and preferences.")
    wpld = FigureSerializer(allow_null=True, help_text="Of preferences: the weighted preference label distance.")
    prevalence = serializers.SerializerMethodField(
        help_text="The share of each value, by people and, beside a judge, by judge; empty without labels."
    )
    labels = serializers.IntegerField()
    simulated = serializers.IntegerField(help_text="So many of the labels were made by simulated annotators.")
    gaps = serializers.SerializerMethodField(help_text="Numbers of units that a comparison leaves out, by reason.")

    def get_prevalence(self, agreement: Agreement) -> dict[str, dict[str, float]]:
        return {
            name: {shown(value): share for value, share in shares.items()} for name, shares in agreement.shares.items()
        }

    def get_gaps(self, agreement: Agreement) -> dict[str, int]:
        return dict(agreement.gaps)


class QuestionAgreementSerializer(serializers.Serializer[Any]):
    question_id = serializers.IntegerField(source="pk")
    question = serializers.CharField(source="text")
    item = serializers.CharField(source="external_id")
    position = serializers.IntegerField()
    alpha = FigureSerializer()
    percent = FigureSerializer()
    gwet = FigureSerializer(help_text="AC1.")
    yes = serializers.FloatField(allow_null=True, help_text="The share of yes among all labels.")


class JudgeAgreementSerializer(serializers.Serializer[Any]):
    """How far one run agrees with the consensus of the people."""

    run = serializers.IntegerField(source="run.pk")
    judge = serializers.CharField(source="run.judge.name")
    method = serializers.CharField(source="run.method")
    agreement = AgreementSerializer()


class PanelSerializer(serializers.Serializer[Any]):
    """The live panel of a round. Machine raters never enter a figure about people."""

    people = AgreementSerializer(many=True)
    question_count = serializers.IntegerField(help_text="So many questions does the round ask.")
    questions = QuestionAgreementSerializer(many=True)
    judges = JudgeAgreementSerializer(many=True)
