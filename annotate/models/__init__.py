"""The words of the human side, one module per noun (see docs/words.md)."""

from annotate.models.annotation import Annotation, Answer
from annotate.models.checklist import Checklist, Question
from annotate.models.dimension import Dimension
from annotate.models.item import Item, Response
from annotate.models.login import LoginAttempt
from annotate.models.project import Invitation, Membership, Project, Role
from annotate.models.round import Assignment, Round, Task
from annotate.models.upload import Upload
from annotate.models.user import User

__all__ = [
    "Annotation",
    "Answer",
    "Assignment",
    "Checklist",
    "Dimension",
    "Invitation",
    "Item",
    "LoginAttempt",
    "Membership",
    "Project",
    "Question",
    "Response",
    "Role",
    "Round",
    "Task",
    "Upload",
    "User",
]
