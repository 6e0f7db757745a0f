"""The TICK policy: explicit and generally sensible implicit criteria, two to eight questions (paper 002)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from judging.generators.base import Policy
from judging.models import Call
from judging.prompts import Message, template
from judging.protocols.base import history_text


class Ticking(Policy):
    name = "ticking"
    title = _("TICK checklists")
    description = _("What the instruction asks for and what any sensible reader expects, in two to eight questions.")

    def messages(self, call: Call) -> list[Message]:
        return template(self.name).fill({"history": history_text(call.item), "instruction": call.item.instruction})
