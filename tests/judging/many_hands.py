"""One of several processes that label, correct and withdraw in a round at once: `python -m tests.judging.many_hands
ROUND SEED ANNOTATOR...` with DATABASE_URL. It begins when its standard input is closed."""

from __future__ import annotations

import os
import random
import sys

import django


def main(round_id: int, seed: int, names: list[str]) -> None:
    """Work until no task is left for any of these people."""
    from annotate import assignment, labelling
    from annotate.contents import Content
    from annotate.models import Annotation, Round, User

    dice = random.Random(seed)
    round = Round.objects.get(pk=round_id)
    waiting = list(User.objects.filter(username__in=names))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    while waiting:
        person = dice.choice(waiting)
        task = assignment.next_task(round, person)
        if task is None:
            waiting.remove(person)
            continue
        assert task.checklist is not None
        questions = list(task.checklist.questions.values_list("pk", flat=True))

        def content(questions: list[int] = questions) -> Content:
            return Content(dice.randint(1, 5), {pk: dice.choice(["yes", "no"]) for pk in questions}, "none")

        stored = Annotation.objects.get(task=task, annotator=person)
        stored = labelling.save(task, person, content(), token="submit", version=stored.version, submit=True, ask=False)
        if dice.random() < 0.3 and not stored.surplus:
            stored = labelling.correct(task, person, content(), token="correct", version=stored.version)
        if dice.random() < 0.1:
            labelling.withdraw(stored, "by chance")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
