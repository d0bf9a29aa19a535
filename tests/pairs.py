"""Two processes that train together as under torchrun, forked by one that has imported what both need."""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable


def run_pair(work: Callable[[], None]) -> None:
    """Do work in two processes that find each other; end this one, with 1 if either of them failed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    running = {_fork(work, rank) for rank in ("0", "1")}
    while running:
        process, status = os.wait()
        running.discard(process)
        if status:
            for other in running:  # it would wait for the one that failed
                os.kill(other, signal.SIGKILL)
            sys.exit(1)
    sys.exit(0)


def _fork(work: Callable[[], None], rank: str) -> int:
    if process := os.fork():
        return process
    code = 1
    os.environ |= {"RANK": rank, "LOCAL_RANK": rank}
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
