"""Sentences that are kept in English, in the language of whoever reads them.

Two kinds of sentences are not translated where they are made. What a worker writes down (why a call failed, why a run
was paused, what the test of a judge found) is read later, by people of any language. And `judging.agreement`, which
imports nothing of Django, says in English why a figure is undefined. Both stay English in the database, in exports and
in the API; pages show them by `translated`, which knows them by the templates below.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_noop as _

FIGURES = (
    _("Undefined: all ratings are the same, so chance explains them."),
    _("Undefined: all values are %(value)s."),
    _("Undefined: a sample is empty."),
    _("Undefined: every %(side)s score is %(value)s."),
    _("Undefined: every rating is %(value)s."),
    _("Undefined: judged units and units where people said yes and no are all needed."),
    _("Undefined: no person has given an answer yet."),
    _("Undefined: no person has given a preference yet."),
    _("Undefined: no person has given a score yet."),
    _("Undefined: no question has an answer."),
    _("Undefined: no unit has a label of both raters."),
    _("Undefined: no unit has both a consensus of people and a value of the judge."),
    _("Undefined: no unit has both labels."),
    _("Undefined: no unit has labels of the judge and of two people."),
    _("Undefined: no unit has two labels, so there is nothing to compare."),
    _("Undefined: nothing connects this system with the others."),
    _("Undefined: on the units that people labelled the judge does no better than chance."),
    _("Undefined: the judge has no readable answer yet."),
    _("Undefined: the judge has no readable preference yet."),
    _("Undefined: the judge has no readable score yet."),
    _("Undefined: the measure has no value here."),
    _("Undefined: the scale has fewer than two values."),
    _("Undefined: the scores of one side do not vary."),
    _("Undefined: the two samples are the same."),
    _("Undefined: the variance between units is nil."),
    _("Undefined: there are fewer than two rows with both scores."),
    _("Undefined: there are no labels."),
    _("Undefined: there is no common unit."),
    _("Undefined: there is nothing to compare."),
    _("Undefined: there is only one rater."),
    _("Undefined: this system never loses, so its rating has no upper limit."),
    _("Undefined: this system never wins, so its rating has no lower limit."),
    _("Undefined: this system's group never loses to the others, or never beats them."),
    _("Undefined: two raters on two common units are the least."),
    _("Undefined: two units with labels of people and two without are the least."),
    _("Undefined: without variation in the labels there is no alpha to compare."),
    _("%(number)s instructions with constant scores were skipped."),
    _("%(number)s missing answer was left out."),
    _("%(number)s missing answer was counted as wrong."),
    _("%(number)s missing answer was counted as half."),
    _("%(number)s missing answers were left out."),
    _("%(number)s missing answers were counted as wrong."),
    _("%(number)s missing answers were counted as half."),
    _("%(lost)s of %(number)s resamples had no variation and were left out."),
    _("All resamples agree on this value, so the interval has no width; it is not certainty."),
    _("No BCa interval: the figure lies outside of its resamples; choose another method."),
    _("No interval: the figure hangs on a single unit and is undefined without it."),
    _("No interval: the figure is undefined in %(lost)s of %(number)s resamples."),
    _("No interval: the raters leave no error to estimate it from."),
    _("No interval: the rows do not say which instruction they belong to."),
    _("No interval: there is only one unit."),
    _(
        "One category holds %(share)s of the labels on only %(units)s units: the true interval is wider than the one "
        "shown."
    ),
    _("Only %(people)s people; the test is meant for %(fewest)s or more."),
    _("Someone labelled only %(units)s common units; the test is meant for %(fewest)s or more."),
    _("The correction gives %(value)s and was cut to the range 0 to 1."),
)
FAILURES = (
    _("No checklist could be read from the reply."),
    _("No complete reply came within %(seconds)s seconds: allow more time or shorter replies."),
    _("OPENAI_API_KEY is not set on the server: set it and restart, or store a key."),
    _("The account of this key has no credit left at the endpoint."),
    _("The base URL is no address that can be called: correct it."),
    _("The call failed (%(error)s): check the base URL."),
    _("The endpoint asks for fewer calls (429)."),
    _("The endpoint broke the connection before the reply was complete."),
    _("The endpoint cannot be reached: check the base URL, and that the server behind it runs."),
    _("The endpoint does not know the model or the address: check both."),
    _(
        "The endpoint gave no token probabilities, which RocketEval reads: choose a judge that gives them, or a "
        "protocol that reads the text of the reply."
    ),
    _("The endpoint had a fault of its own (%(status)s)."),
    _("The endpoint is not ready (503)."),
    _("The endpoint redirects to another address: put that address into the base URL."),
    _(
        "The endpoint refuses to give token probabilities (%(status)s): choose a judge that gives them, or another "
        "protocol."
    ),
    _("The endpoint refused the key: check that it is right and may use this model."),
    _("The endpoint refused the request (%(status)s)."),
    _("The endpoint sent an empty answer."),
    _("The endpoint's address lies in a private network, which this server does not call: use a public host."),
    _("The endpoint's answer holds no reply: is the base URL right?"),
    _("The endpoint's answer is a web page: is the base URL right?"),
    _("The endpoint's answer is larger than %(bytes)s bytes: limit the tokens of a reply."),
    _("The endpoint's answer is not valid JSON: is the base URL right?"),
    _("The endpoint's content filter withheld the reply."),
    _("The endpoint's reply is not a text."),
    _("The host name %(host)s cannot be found: check the base URL."),
    _("The model sent an empty reply."),
    _("The program failed on this call (%(error)s): see the log."),
    _("The reply has %(number)s characters: limit the tokens of a reply."),
    _("The reply was cut off before any text came: allow more tokens in a reply."),
    _("The server's key is not sent to this base URL: give the judge a key of its own."),
    _("The stored key cannot be read any more: enter it again."),
    _("The texts are longer than the model can take in: use a model with a longer context."),
    _("It says: “%(said)s”"),
)
PAUSES = (
    _("%(number)s calls in a row failed, the last one so: %(reason)s"),
    _("It was stopped at the terminal."),
    _("Nothing was answered for %(seconds)s seconds, the last failure was: %(reason)s"),
    _("Raise the limit to go on."),
    _("Resume the run when this is put right."),
    _("The prompt was changed since this run was planned: start a new run."),
    _("The run may spend %(cap)s USD and has spent %(spent)s; the next call could cost up to %(most)s."),
)
FINDINGS = (
    _("Answer"),
    _("JSON by a schema"),
    _("Token probabilities"),
    _("Usage figures"),
    _("It does not report how many tokens it used: costs by the token will be shown as 0."),
    _("It does not take JSON schemas: replies are read from their text."),
    _("It gives no token probabilities: RocketEval cannot be used with it."),
    _(
        "It gives the probabilities of %(number)s alternatives of a token, which is few: RocketEval may find neither "
        "yes nor no among them."
    ),
    _(
        "It gives the probabilities of 1 alternative of a token, which is few: RocketEval may find neither yes nor no "
        "among them."
    ),
    _("It gives the probabilities of %(number)s alternatives of a token, as RocketEval needs."),
    _("It ignores JSON schemas: replies are read from their text."),
    _("It reports how many tokens it used, and how many of them came from its cache."),
    _("It reports how many tokens it used, but not how many of them came from its cache."),
    _("Its replies keep to a JSON schema, but are better read from their text."),
    _("Its replies keep to a JSON schema."),
    _("Its reply by a JSON schema was cut off: allow more tokens in a reply, then test again."),
    _("The model answered in %(seconds)s s: “%(said)s”"),
    _("Whether it gives token probabilities stayed open."),
    _("Whether replies can keep to a JSON schema stayed open."),
)
MOST_IN_ONE = 8  # sentences that one template takes in, where it quotes some

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_BETWEEN = re.compile(r"(?<=[.?”]) (?=[A-Z\d])")
_QUOTING = {"said", "reason"}  # placeholders that may stand for whole sentences


def _pattern(template: str) -> re.Pattern[str]:
    """What the template looks like when it is filled in."""
    parts = _PLACEHOLDER.split(template)
    found = re.escape(parts[0])
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found += rf"(?P<{name}>{'.+' if name in _QUOTING else '(?:(?![.] ).)+?'}){re.escape(text)}"
    return re.compile(found, re.DOTALL)


_KNOWN = [(template, _pattern(template)) for template in (*FIGURES, *FAILURES, *PAUSES, *FINDINGS)]


@lru_cache(maxsize=4096)
def template_of(sentence: str) -> tuple[str, dict[str, str]] | None:
    """The template that a sentence was made from, with what fills it; None where it is not one of ours."""
    for template, pattern in _KNOWN:
        if match := pattern.fullmatch(sentence):
            return template, match.groupdict()
    return None


def translated(text: str) -> str:
    """One or several kept sentences in the language of the reader; whatever is not known stays as it is."""
    rest, said = _BETWEEN.split(text), []
    while rest:
        for size in range(min(len(rest), MOST_IN_ONE), 0, -1):
            if found := template_of(" ".join(rest[:size])):
                said.append(_filled(*found))
                break
        else:
            said.append(rest[0])
        rest = rest[size:]
    return " ".join(said)


def _filled(template: str, values: dict[str, str]) -> str:
    if "reason" in values:
        values = {**values, "reason": translated(values["reason"])}
    return gettext(template) % values


def between() -> str:
    """What stands between the members of a list."""
    return pgettext("between the members of a list", ", ")
