"""What the human side tells whoever listens, inside the transaction in which it happens.

A receiver that raises undoes the change, so that what it keeps can never differ from the labels.
"""

from __future__ import annotations

from django.dispatch import Signal

# task, annotator, before, after: what this annotator says about the task and is counted, as `contents.Content` or
# None, before and after the change. Drafts and surplus submissions change nothing that is counted and send nothing.
labels_changed = Signal()

# round: a draft was opened, and its tasks are there.
round_opened = Signal()
