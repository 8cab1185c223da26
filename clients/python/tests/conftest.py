from collections.abc import Iterator

import pytest

from .api import Api, Proxy


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    api = Api()
    yield api
    api.stop()


@pytest.fixture
def proxy(api: Api) -> Iterator[Proxy]:
    proxy = Proxy(api.port)
    yield proxy
    proxy.close()
