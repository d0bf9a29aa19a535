"""A crowd that means no good, against a server of this machine: silent sockets, and requests that are too large.

Sockets are opened and say nothing; one that the server cuts is opened again after a while. Meanwhile some clients send
bodies that are far larger than the server allows, announced or not, one after the other. All come from one address.

    python benchmarks/hostile.py http://127.0.0.1:8000 --seconds 30
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

AGAIN_AFTER = 10.0  # seconds until a socket that was cut is opened again
AT_ONCE = 50  # sockets that are opened at the same time
SENDERS = 4
BETWEEN_BODIES = 0.05  # seconds
PIECE = b" " * (1 << 16)
BODY = 64 * len(PIECE)  # bytes, four times what the server allows


class Crowd:
    """What it did, and what came of it."""

    def __init__(self, address: str, seconds: float) -> None:
        where = urlsplit(address)
        if where.hostname != "127.0.0.1" or where.port is None:
            raise SystemExit(f"{address}: only a server of this machine, 127.0.0.1, is tried so")
        self.host, self.port, self.ends = where.hostname, where.port, time.monotonic() + seconds
        self.opening, self.num_open = asyncio.Semaphore(AT_ONCE), 0
        self.most_open, self.opened, self.cut = 0, 0, 0
        self.statuses: Counter[str] = Counter()

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return max(self.ends - time.monotonic(), 0.0)

    async def run(self, num_sockets: int) -> None:
        """Be there until the end."""
        sockets = [self._be_silent() for _ in range(num_sockets)]
        await asyncio.gather(*sockets, *(self._send_bodies(is_announced=bool(n % 2)) for n in range(SENDERS)))

    async def _be_silent(self) -> None:
        while self.left:
            with suppress(OSError, TimeoutError):
                async with self.opening:
                    reader, writer = await asyncio.open_connection(self.host, self.port)
                self.opened += 1
                self.num_open += 1
                self.most_open = max(self.most_open, self.num_open)
                try:
                    await asyncio.wait_for(reader.read(1), self.left)
                    self.cut += 1
                finally:
                    self.num_open -= 1
                    writer.close()
            await asyncio.sleep(min(AGAIN_AFTER, self.left))

    async def _send_bodies(self, is_announced: bool) -> None:
        length = f"Content-Length: {BODY}" if is_announced else "Transfer-Encoding: chunked"
        head = f"POST /answer HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        piece = PIECE if is_announced else b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
        while self.left:
            self.statuses[await self._send(head.encode(), piece)] += 1
            await asyncio.sleep(BETWEEN_BODIES)

    async def _send(self, head: bytes, piece: bytes) -> str:
        """Send a body, and return the status of the answer, or how the connection ended."""
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            return "not connected"
        answer = asyncio.create_task(reader.read(12))
        try:
            writer.write(head)
            for _ in range(BODY // len(PIECE)):
                if answer.done():
                    break
                writer.write(piece)
                await writer.drain()
            return (await asyncio.wait_for(answer, 30)).decode(errors="replace")[9:] or "cut"
        except (OSError, TimeoutError):
            return "cut"
        finally:
            answer.cancel()
            with suppress(OSError, asyncio.CancelledError):
                await answer
            writer.close()


def main() -> None:
    """Be there for some time, and print what came of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="of a server on 127.0.0.1")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--sockets", type=int, default=1000, help="that are silent")
    arguments = parser.parse_args()

    async def run() -> Crowd:
        crowd = Crowd(arguments.address, arguments.seconds)
        await crowd.run(arguments.sockets)
        return crowd

    crowd = asyncio.run(run())
    sockets = {"sockets": arguments.sockets, "opened": crowd.opened, "most_open": crowd.most_open, "cut": crowd.cut}
    print(json.dumps({**sockets, "oversized": dict(crowd.statuses)}))


if __name__ == "__main__":
    main()
