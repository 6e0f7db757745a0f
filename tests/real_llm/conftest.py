"""The packaged model, served in a process of its own for the tests of this folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.models import Project
from judging import local_model, ports
from judging.models import Judge
from tests import build

ROOT = Path(__file__).resolve().parent.parent.parent


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind((ports.HOST, 0))
        return int(trial.getsockname()[1])


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of the served model. It is ready when the command says so."""
    if not local_model.available():
        pytest.skip("The packaged model is not installed.")
    port = free_port()
    environment = {**os.environ, "DEBUG": "1", "CONCORD_VAR_DIR": str(tmp_path_factory.mktemp("model"))}
    command = [sys.executable, "manage.py", "serve_model", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()  # waits until the model is loaded, or the process ends
        assert f"http://127.0.0.1:{port}/v1" in said, f"the model did not start: {said!r}"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0, "the model server must stop in an orderly way"


@pytest.fixture
def judge(project: Project, model_url: str) -> Judge:
    """The packaged model as a judge, with short replies: it repeats itself where it may go on."""
    return build.judge(project, model_url, model=local_model.NAME, max_tokens=200, concurrency=2, is_weak=True)
