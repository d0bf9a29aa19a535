import io

import pytest
from rich.console import Console
from rich.progress import Progress

from downloads import FILES, LISTED, Page, beside, contents, inside, tar, tiny_remote
from tripleshot.datasets.download import fetch
from tripleshot.errors import FetchError


def test_a_redirect_is_followed(server, home):
    server.pages["/old"] = Page(b"", statuses=[302], location="/new")
    server.pages["/new"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/old")), home)
    assert contents(home) == FILES


def test_a_redirect_to_another_scheme_is_not_followed(server, home):
    server.pages["/old"] = Page(b"", statuses=[302], location="ftp://127.0.0.1/tiny")
    with pytest.raises(FetchError, match="ftp"):
        fetch(tiny_remote(server.url("/old")), home, attempts=1)


def test_a_broken_connection_is_resumed_with_the_rest_only(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, stops=[100_000, 50_000])
    fetch(tiny_remote(server.url("/tiny")), home, wait=0)
    assert server.ranges() == [None, "bytes=100000-", "bytes=150000-"]
    assert server.sent_bytes == len(archive)
    assert contents(home) == FILES


def test_the_next_run_resumes_what_the_last_one_left(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, stops=[100_000])
    with pytest.raises(FetchError, match=r"100,000 bytes arrived; running the command again resumes"):
        fetch(tiny_remote(server.url("/tiny")), home, attempts=1)
    assert beside(home) == ["tiny.part", "tiny.part.json"]
    fetch(tiny_remote(server.url("/tiny")), home, attempts=1)
    assert server.ranges() == [None, "bytes=100000-"]
    assert contents(home) == FILES
    assert beside(home) == []


def test_a_file_of_a_folder_url_is_resumed_too(server, home):
    for name in LISTED:
        server.pages[f"/raw/{name}"] = Page(FILES[name])
    server.pages["/raw/ent2ids"].statuses = [403]
    with pytest.raises(FetchError, match="403"):
        fetch(tiny_remote(server.url("/raw/")), home)
    fetch(tiny_remote(server.url("/raw/")), home)
    assert server.requests[2] == ("/raw/path_graph", f"bytes={len(FILES['path_graph'])}-")  # answered with 416
    assert server.sent_bytes == sum(len(FILES[name]) for name in LISTED)
    assert contents(home) == {name: FILES[name] for name in LISTED}


def test_half_a_file_is_asked_for_again_and_then_reported(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive, ranges=False, stops=[len(archive) // 2] * 3)
    with pytest.raises(FetchError, match=f"closed before all of {len(archive):,} bytes had come"):
        fetch(tiny_remote(server.url("/tiny")), home, attempts=3, wait=0)
    assert len(server.requests) == 3
    assert not home.exists()


def test_a_broken_chunked_answer_is_tried_again(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")), chunked=True, stops=[100_000])
    fetch(tiny_remote(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


@pytest.mark.parametrize("etag", ['"one"', None, 'W/"weak"'])
def test_a_server_that_cannot_resume_starts_over(server, home, etag):
    server.pages["/tiny"] = Page(tar(inside("tiny")), ranges=False, etag=etag, stops=[100_000])
    fetch(tiny_remote(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


@pytest.mark.parametrize("respects_if_range", [True, False])
def test_a_changed_file_starts_over(server, home, respects_if_range):
    server.pages["/tiny"] = Page(b"x" * 300_000, stops=[100_000])
    with pytest.raises(FetchError):
        fetch(tiny_remote(server.url("/tiny")), home, attempts=1)
    server.pages["/tiny"] = Page(tar(inside("tiny")), etag='"two"', respects_if_range=respects_if_range)
    fetch(tiny_remote(server.url("/tiny")), home, attempts=2, wait=0)
    assert contents(home) == FILES


def test_a_file_that_shrank_starts_over(server, home):
    server.pages["/tiny"] = Page(b"x" * 900_000, stops=[800_000])
    with pytest.raises(FetchError):
        fetch(tiny_remote(server.url("/tiny")), home, attempts=1)
    server.pages["/tiny"] = Page(tar(inside("tiny")), respects_if_range=False)
    fetch(tiny_remote(server.url("/tiny")), home, attempts=2, wait=0)
    assert contents(home) == FILES


def test_an_unreadable_note_starts_over(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")))
    home.parent.mkdir()
    (home.parent / "tiny.part").write_bytes(b"x" * 10)
    (home.parent / "tiny.part.json").write_text("[1")
    fetch(tiny_remote(server.url("/tiny")), home)
    assert server.ranges() == [None]


def test_a_passing_server_error_is_tried_again(server, home):
    server.pages["/tiny"] = Page(tar(inside("tiny")), statuses=[500, 503])
    fetch(tiny_remote(server.url("/tiny")), home, wait=0)
    assert contents(home) == FILES


def test_the_wait_grows(server, home, monkeypatch):
    waits = []
    monkeypatch.setattr("tripleshot.web.time.sleep", waits.append)
    server.pages["/tiny"] = Page(b"", statuses=[500] * 4)
    with pytest.raises(FetchError, match="500"):
        fetch(tiny_remote(server.url("/tiny")), home, attempts=4, wait=0.5)
    assert waits == [0.5, 1.0, 2.0]


def test_no_server_is_a_fetch_error(server, home):
    with pytest.raises(FetchError, match="refused"):
        fetch(tiny_remote("http://127.0.0.1:9/tiny"), home, attempts=2, wait=0)


@pytest.mark.parametrize("url", ["http://127.0.0.1:port/", "http://127.0.0.1/a b", "http://ex\xe4mple..invalid/é"])
def test_an_unusable_url_is_a_fetch_error(server, home, url):
    with pytest.raises(FetchError):
        fetch(tiny_remote(), home, url, attempts=1)


def test_the_callers_progress_is_used_and_left_clean(server, home):
    server.pages["/tiny[1]"] = Page(tar(inside("tiny")))
    with Progress(console=Console(file=io.StringIO())) as progress:
        fetch(tiny_remote(server.url("/tiny[1]")), home, progress=progress)
        assert progress.tasks == []
