"""The OpenAPI document, the README and the clients have the same calls: a new route fails here until it is in all of them."""

import inspect
import json
import re
import urllib.request
from typing import Any

import pytest

from holdfast_client import AsyncClient, Client, errors
from holdfast_client.retry import LONG_TIMEOUT

from .api import Api, root

HELPERS = {"in_event", "refresh_seats", "request", "list_items"}  # more than one operation, or one of another method


@pytest.fixture(scope="module")
def document(api: Api) -> Any:
    return json.load(urllib.request.urlopen(api.url + "/openapi.json"))


@pytest.fixture(scope="module")
def operations(document: Any) -> dict[str, str]:
    """The route of each operation that is not only another's in the path of an event, by the name of its method."""
    found = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["operationId"].replace("-", "_")] = f"{method.upper()} {path}"
    return {name: route for name, route in found.items() if name.removesuffix("_in_event") not in found or not name.endswith("_in_event")}


@pytest.fixture(scope="module")
def table() -> dict[str, list[str]]:
    """The cells of the README's table behind each call."""
    readme = (root / "clients" / "python" / "README.md").read_text()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in readme.split("## All calls")[1].splitlines() if "|" in line]
    return {row[0].strip("`"): row[1:] for row in rows[2:]}


def methods(of: type) -> dict[str, str]:
    return {name: str(inspect.signature(m)) for name, m in vars(of).items() if callable(m) and not name.startswith("_")}


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_each_operation_is_a_method(client: type, operations: dict[str, str]) -> None:
    assert set(methods(client)) - {"close", "aclose"} - HELPERS == set(operations)


def test_both_clients_have_the_same_arguments() -> None:
    def arguments(client: type) -> dict[str, str]:
        return {name: signature.split(" -> ")[0] for name, signature in methods(client).items() if "close" not in name}

    assert arguments(Client) == arguments(AsyncClient)


def test_the_table_has_each_call(operations: dict[str, str], table: dict[str, list[str]]) -> None:
    assert set(table) == set(operations) | HELPERS
    assert {name: cells[0].strip("`") for name, cells in table.items() if name not in HELPERS} == operations


def test_each_call_of_the_go_client_has_its_counterpart(table: dict[str, list[str]]) -> None:
    sources = "".join(path.read_text() for path in (root / "client").glob("*.go"))
    exported = set(re.findall(r"^func \(c \*Client\) ([A-Z]\w*)", sources, re.MULTILINE))
    assert len(exported) > 50
    assert {name for cells in table.values() for name in re.findall(r"`(\w+)`", cells[-1])} == exported


def test_long_calls_wait_longer_than_the_server_works() -> None:
    (limit,) = re.findall(r"^const writeTimeout = (\d+) \* time.Second$", (root / "httpapi" / "server.go").read_text(), re.MULTILINE)
    assert int(limit) < LONG_TIMEOUT


def test_classes_of_errors_have_codes_of_the_document(document: Any) -> None:
    assert set(errors.classes) <= set(document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"])
