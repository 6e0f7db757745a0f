"""What researchers write about judges and runs."""

from judging.forms.judges import JudgeForm
from judging.forms.runs import GenerationForm, LimitForm, RepeatForm, RunForm

__all__ = ["GenerationForm", "JudgeForm", "LimitForm", "RepeatForm", "RunForm"]
