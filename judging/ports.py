"""Ports on this machine's loopback address."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def problem_with(port: int) -> str:
    """Why nobody can listen on this port, as the beginning of a sentence; empty when it is free."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError as error:
            return f"Port {port} cannot be used ({error.strerror})"
    return ""
