"""Tokens of a prompt before an endpoint has counted them: likely, rather too many, and at most."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judging.prompts import Message

LETTERS_A_TOKEN = 4
BYTES_A_TOKEN = 3  # fewer than most texts have; a Japanese letter has three
TOKENS_A_MESSAGE = 16  # of the chat format around each message
_IDEOGRAMS = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)


def likely(messages: Sequence[Message]) -> float:
    """By counting: one for each Chinese, Japanese or Korean letter, one for four others."""
    text = "".join(message["content"] for message in messages)
    ideograms = len(_IDEOGRAMS.findall(text))
    return ideograms + (len(text) - ideograms) / LETTERS_A_TOKEN


def rather_many(messages: Sequence[Message]) -> int:
    """More than most tokenizers make, in any language."""
    return sum(len(message["content"].encode()) // BYTES_A_TOKEN + TOKENS_A_MESSAGE for message in messages)


def most(messages: Sequence[Message]) -> int:
    """No tokenizer makes more: a token has at least one byte."""
    return sum(len(message["content"].encode()) + TOKENS_A_MESSAGE for message in messages)
