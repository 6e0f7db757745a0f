"""People that every test knows: Alice curates, Bob researches, Ann and Abe annotate, Charlie is no member."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from annotate.models import Project, Role, User
from tests import build

# A time limit would fail on a busy machine, and examples drawn anew on another run.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("steady")

HERE = Path(__file__).parent
# Pure numbers, what pages look like and do in a browser, texts of the sources, and what a language model says.
ANY_DATABASE = (
    "agreement",
    "golden",
    "real_llm",
    "styleguide",
    "browser",
    "judging/test_measure.py",
    "test_docs.py",
    "test_translations.py",
)
BUT = ("browser/test_main_job.py", "browser/test_live_panel.py", "judging/test_health.py")
# They take minutes, so that they come first: two workers would wait for one of them otherwise.
LONG = (
    "browser/test_accessibility.py",
    "real_llm/test_packaged_model.py",
    "browser/test_hostile_texts.py",
    "real_llm/test_token_probabilities.py",
    "browser",
    "judging",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (_lies_in(item, ANY_DATABASE) or not _asks_a_database(item)) and not _lies_in(item, BUT):
            item.add_marker(pytest.mark.any_database)
    items.sort(
        key=lambda item: next((number for number, place in enumerate(LONG) if _lies_in(item, [place])), len(LONG))
    )


def _asks_a_database(item: pytest.Item) -> bool:
    asks = {"db", "transactional_db", "live_server"}
    return bool(asks & set(getattr(item, "fixturenames", ()))) or item.get_closest_marker("django_db") is not None


def _lies_in(item: pytest.Item, places: Iterable[str]) -> bool:
    return any(item.path.is_relative_to(HERE / place) for place in places)


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
