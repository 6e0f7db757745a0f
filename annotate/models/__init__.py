"""The words of the human side, one module per noun (see docs/words.md)."""

from annotate.models.annotation import Adjudication, Annotation, Answer, Removal, Revision
from annotate.models.checklist import Checklist, Question
from annotate.models.dimension import Dimension
from annotate.models.experiment import Experiment, Placing
from annotate.models.intervention import Intervention
from annotate.models.item import Item, Response
from annotate.models.login import LoginAttempt
from annotate.models.participation import Participation
from annotate.models.project import Invitation, Membership, Project, Role
from annotate.models.round import Round
from annotate.models.task import Assignment, Task
from annotate.models.training import Comparison, Grant
from annotate.models.upload import Upload
from annotate.models.user import User

__all__ = [
    "Adjudication",
    "Annotation",
    "Answer",
    "Assignment",
    "Checklist",
    "Comparison",
    "Dimension",
    "Experiment",
    "Grant",
    "Intervention",
    "Invitation",
    "Item",
    "LoginAttempt",
    "Membership",
    "Participation",
    "Placing",
    "Project",
    "Question",
    "Removal",
    "Response",
    "Revision",
    "Role",
    "Round",
    "Task",
    "Upload",
    "User",
]
