"""Ctrl-C while the command line is still being imported.

A second goes by before ``main`` runs, and importing anything of a package imports the package first. So this is the package's
first import, and does nothing unless the process is the command ``extranets`` itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

INTERRUPTED = 130


def hold() -> None:
    """From now on Ctrl-C ends the process without a traceback: no work has begun."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler and _in_main_thread():
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def release() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt again."""
    if _is_command() and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_main_thread() -> bool:
    """Whether this is the main thread: only there may a program set what a signal does."""
    return threading.current_thread() is threading.main_thread()


def _is_command() -> bool:
    """Whether this process is the command. Its child processes may have its arguments, but have another main module."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return (
        script is not None
        and os.path.abspath(script) == os.path.abspath(sys.argv[0])
        and Path(script).name == "extranets"
    )


hold()
