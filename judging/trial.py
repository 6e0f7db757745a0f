"""The test of a judge: asked for on its page, carried out by a worker, found on the page again."""

from __future__ import annotations

import datetime
from dataclasses import asdict

from django.db import transaction
from django.utils import timezone

from judging.models import Judge
from judging.probing import probe

# A worker that is busy with a run takes a test within half a minute, and is done within another (`judging.probing`);
# after this long the page says that none seems to be there.
PATIENCE = datetime.timedelta(seconds=120)
EXPIRES = 10 * 60  # seconds after which nobody waits for the findings any more


def begin(judge: Judge) -> None:
    """Note that a test was asked for and ring for a worker."""
    from judging.tasks import test_judge

    judge.forget_test()
    judge.test_asked_at = timezone.now()
    judge.save(update_fields=["test_asked_at", "tested_at", "findings", "abilities"])
    # A broker that is down does no harm: the page says after a while that no worker took the test.
    transaction.on_commit(lambda: test_judge.apply_async((judge.pk,), expires=EXPIRES, retry=False), robust=True)


def carry_out(judge_id: int) -> None:
    """Send the test calls and keep what they found, unless the judge was changed or tested again meanwhile."""
    judge = Judge.objects.filter(pk=judge_id, test_asked_at__isnull=False, tested_at=None).first()
    if judge is None:
        return
    probed = probe(judge)
    Judge.objects.filter(pk=judge.pk, test_asked_at=judge.test_asked_at).update(
        findings=[asdict(finding) for finding in probed.findings],
        abilities=probed.abilities,
        tested_at=timezone.now(),
    )


def is_overdue(judge: Judge) -> bool:
    return judge.is_being_tested and judge.test_asked_at is not None and timezone.now() - judge.test_asked_at > PATIENCE
