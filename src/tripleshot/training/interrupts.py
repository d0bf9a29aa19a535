"""Ctrl-C during a training: the first asks it to save and stop, the second stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether the user has asked a training to stop."""

    def __init__(self) -> None:
        self.is_made = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the first Ctrl-C as a request while a training runs."""

        def ask(number: int, frame: FrameType | None) -> None:
            if self.is_made:
                raise KeyboardInterrupt
            self.is_made = True

        try:
            before = signal.signal(signal.SIGINT, ask)
        except ValueError:  # not in the main thread: nobody can press Ctrl-C here
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
