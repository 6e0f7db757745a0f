"""What a run does with its calls: a protocol judges, a policy writes checklists. Workers see only this."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from typing import Any

from judging import claims
from judging.claims import Settlement
from judging.faults import CallFailed
from judging.generators import POLICIES, Policy
from judging.models import Call, Prompt, Run, Verdict
from judging.prompts import Message
from judging.protocols import PROTOCOLS, Outcome, Protocol, Setup

UNREADABLE = CallFailed("No checklist could be read from the reply.", retryable=True)


class Method(ABC):
    """How the calls of one run are asked and settled."""

    prompt_version: str

    @abstractmethod
    def messages(self, call: Call) -> list[Message]:
        """The prompt."""

    @abstractmethod
    def parameters(self, call: Call) -> dict[str, Any]:
        """What is sent beside model and prompt."""

    @abstractmethod
    def conclude(self, call: Call, now: datetime.datetime) -> Settlement:
        """What an answered call says; its failure where its reply is of no use."""

    def errors(self, call: Call) -> list[Outcome]:
        """What is stored for a call that was given up."""
        return []


class Judging(Method):
    def __init__(self, run: Run, protocol: Protocol, setup: Setup) -> None:
        self.run, self.protocol, self.setup = run, protocol, setup
        self.prompt_version = setup.template.version

    def messages(self, call: Call) -> list[Message]:
        return self.protocol.messages(call, self.setup)

    def parameters(self, call: Call) -> dict[str, Any]:
        return {**self.run.judge.parameters, **self.protocol.parameters(call, self.setup)}

    def conclude(self, call: Call, now: datetime.datetime) -> Settlement:
        try:
            outcomes = self.protocol.read(call, self.setup)
        except CallFailed as failure:
            return claims.failed(call, failure, self.errors(call), now)
        return claims.done(call, outcomes, follow_up=self.protocol.follow_up(call, self.setup))

    def errors(self, call: Call) -> list[Outcome]:
        return self.protocol.blank(call, Verdict.State.ERROR)


class Generation(Method):
    def __init__(self, run: Run, policy: Policy) -> None:
        self.run, self.policy = run, policy
        self.prompt_version = policy.prompt_version

    def messages(self, call: Call) -> list[Message]:
        return self.policy.messages(call)

    def parameters(self, call: Call) -> dict[str, Any]:
        return self.policy.parameters(self.run.judge, self.run.seed + 100 * (call.repeat - 1) + call.attempts)

    def conclude(self, call: Call, now: datetime.datetime) -> Settlement:
        questions = self.policy.read(call)
        if questions:
            return claims.written(call, self.policy.name, questions)
        return claims.failed(call, UNREADABLE, [], now)


def method_of(run: Run) -> Method:
    """The method that a run was planned with."""
    if run.kind == Run.Kind.GENERATION:
        return Generation(run, POLICIES[run.method])
    protocol = PROTOCOLS[run.method]
    return Judging(run, protocol, setup_of(run, protocol))


def setup_of(run: Run, protocol: Protocol) -> Setup:
    """What the calls of a judging run share. Of a prompt that nobody has any more it carries the one in use."""
    name = protocol.template_name(analysis=run.options.get("analysis", True))
    pinned = Prompt.objects.pinned(run.project, name, run.prompt_version) if run.prompt_version else None
    return Setup(
        template=pinned or Prompt.objects.of(run.project, name),
        scale=run.round or run.project,
        analysis=run.options.get("analysis", True),
        schema=run.options.get("schema", False),
        alternatives=run.options.get("alternatives", 0),
    )
