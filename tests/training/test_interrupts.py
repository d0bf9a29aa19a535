import os
import signal
import threading

import pytest

from tripleshot.training.interrupts import StopRequest


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_is_a_request_and_the_second_stops_at_once():
    request, before = StopRequest(), signal.getsignal(signal.SIGINT)
    with request.listening():
        assert not request.is_made
        press()
        assert request.is_made
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nobody_listens():
    request, before, seen = StopRequest(), signal.getsignal(signal.SIGINT), []

    def listen():
        with request.listening():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [before]
