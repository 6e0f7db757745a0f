"""People that every test knows: Alice curates, Bob researches, Ann and Abe annotate, Charlie is no member."""

import pytest

from annotate.models import Project, Role, User
from tests import build


@pytest.fixture
def project(db: None) -> Project:
    return build.project("garden")


@pytest.fixture
def alice(project: Project) -> User:
    return build.member(project, Role.CURATOR, "alice")


@pytest.fixture
def bob(project: Project) -> User:
    return build.member(project, Role.RESEARCHER, "bob")


@pytest.fixture
def ann(project: Project) -> User:
    return build.member(project, Role.ANNOTATOR, "ann")


@pytest.fixture
def abe(project: Project) -> User:
    return build.member(project, Role.ANNOTATOR, "abe")


@pytest.fixture
def charlie(db: None) -> User:
    return build.user("charlie")
