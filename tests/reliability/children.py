"""Functions in a forked process with less than usual: limits, another user, another environment."""

from __future__ import annotations

import os
import pickle
import signal
import traceback

import pytest

NOBODY = 65534
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def in_child(body, *prepare):
    """What ``body()`` returns or raises in a child process, after each of ``prepare`` was called there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run(reader, writer, body, prepare)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        sent = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        pytest.fail(f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}")
    found, text = pickle.loads(sent)
    if isinstance(found, BaseException):
        found.add_note(text) if hasattr(found, "add_note") else None
        raise found
    return found


def _run(reader, writer, body, prepare):
    """Body of the child, which ends here."""
    os.close(reader)
    try:
        for action in prepare:
            action()
        found, text = body(), ""
    except BaseException as error:
        found, text = error, traceback.format_exc()
    with os.fdopen(writer, "wb") as pipe:
        pickle.dump((found, text), pipe)
    os._exit(0)


def as_nobody():
    """As an ordinary user, if this process may change users; otherwise it is one."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def limited(name, amount):
    """Sets a limit of the ``resource`` module."""

    def prepare():
        import resource

        resource.setrlimit(getattr(resource, name), (amount, amount))

    return prepare
