"""The one exception for what a user can get wrong."""


class BadInput(Exception):
    """A sentence that names the line of the file, or the rule, and what to do."""


def quoted(text: str) -> str:
    """Text of a file as it may stand in a sentence: short, on one line, without control characters."""
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def named(texts: list[str]) -> str:
    """Names in a sentence, cut after twelve."""
    return ", ".join(quoted(text) for text in texts[:12]) + (", ..." if len(texts) > 12 else "")
