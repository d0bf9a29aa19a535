import pytest

from server.conftest import Client, detail
from tripleshot.server import Limits, create_app
from tripleshot.server.hosts import AllowedHosts


@pytest.mark.parametrize("header", ["localhost", "LocalHost:8000", "localhost.", "127.0.0.2:80", "[::1]:1"])
def test_a_server_is_always_called_by_the_names_of_this_machine(header):
    assert AllowedHosts().allows(header)
    assert AllowedHosts.of("graphs.example").allows(header)


@pytest.mark.parametrize(
    "header",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8000",
        "192.168.1.5",
        "[2001:db8::1]",
        "x@localhost",
        "[::1",
    ],
)
def test_a_server_is_not_called_by_other_names(header):
    assert not AllowedHosts.of("127.0.0.1").allows(header)
    assert AllowedHosts.of("127.0.0.1", ["*"]).allows(header) is (header != "[::1")


def test_what_a_server_listens_on_is_its_name():
    assert AllowedHosts.of("192.168.1.5").allows("192.168.1.5:8000")
    assert not AllowedHosts.of("192.168.1.5").allows("192.168.1.6")
    assert AllowedHosts.of("Graphs.example").allows("graphs.example")
    assert AllowedHosts.of("127.0.0.1", ["graphs.example"]).allows("graphs.example")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_that_listens_everywhere_is_called_by_every_number_and_by_no_other_name(host):
    hosts = AllowedHosts.of(host)
    assert hosts.allows("192.168.1.5:8000")
    assert hosts.allows("[2001:db8::1]:8000")
    assert not hosts.allows("evil.example")


def test_requests_to_another_name_are_refused_everywhere(predictor):
    client = Client(create_app(predictor, Limits(), "sesame", AllowedHosts.of("127.0.0.1", ["graphs.example"])))
    for path in ("/", "/health", "/about", "/nothing"):
        refused = detail(client.get(path, headers={"Host": "evil.example"}), 421)
        assert refused == "this server does not answer to 'evil.example'; it can be told to with --allow-host"
    assert client.get("/health", headers={"Host": "graphs.example:8000"}).status_code == 200
    assert client.get("/health", headers={"Host": ""}).status_code == 200
