"""A page with a server behind it: other slices, for this machine alone."""

import http.client
import json
import socket
import threading

import pytest

from prism.errors import InputError
from prism.solution.explorer.server import HOST, PageServer


@pytest.fixture
def server():
    """It has slices of all coordinates but x9."""

    def slices(names: list[str]) -> dict[str, object]:
        if "x8" in names:
            raise ZeroDivisionError("a defect")
        if "x9" in names:
            raise InputError("there is no coordinate 'x9'")
        return {"coordinates": names, "size": float("nan")}

    with PageServer(0) as server:
        threading.Thread(target=server.offer, args=("<p>û</p>", slices), daemon=True).start()
        yield server
        server.shutdown()


def asked(server: PageServer, path: str, host: str | None = None, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, server.server_address[1], timeout=10)
    connection.request("GET", path, headers=headers if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_it_gives_the_page_and_other_slices(server):
    assert asked(server, "/") == (200, "<p>û</p>")
    status, text = asked(server, "/slices?coordinates=x1,%20x7,")
    assert (status, json.loads(text)) == (200, {"coordinates": ["x1", "x7"], "size": None})


def test_what_it_does_not_have_is_said(server):
    status, text = asked(server, "/slices?coordinates=x9")
    assert (status, json.loads(text)["error"]) == (400, "there is no coordinate 'x9'")
    assert asked(server, "/slices?coordinates=x8") == (500, '{"error": "ZeroDivisionError: a defect"}')
    assert asked(server, "/other")[0] == 404
    assert asked(server, "/slices?coordinates=" + "x" * 5000)[0] == 200  # cut off


def test_what_is_no_address_is_refused(server):
    with socket.create_connection((HOST, server.server_address[1]), timeout=10) as connection:
        host = f"{HOST}:{server.server_address[1]}"
        connection.sendall(f"GET http://[/ HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        assert b" 400 " in connection.recv(100)


def test_it_answers_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert asked(server, "/", host="example.org")[0] == 403
    assert asked(server, "/", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert asked(server, "/", host=f"localhost:{server.server_address[1]}")[0] == 200


def test_a_port_in_use_is_refused(server):
    with pytest.raises(InputError, match="cannot serve on port"):
        PageServer(server.server_address[1])
