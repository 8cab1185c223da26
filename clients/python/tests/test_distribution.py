"""The distributions in HOLDFAST_CLIENTS, as a stranger uses them: installed into an empty environment, with the README's program."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from .api import KEY, Api, root

FILES = {"__init__.py", "py.typed", "models.py", "_sync/client.py", "_async/client.py"}


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(os.environ["HOLDFAST_CLIENTS"])


def test_distributions_have_what_is_generated(folder: Path) -> None:
    (wheel,) = folder.glob("holdfast_client-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"holdfast_client/{file}" for file in FILES} <= names
    assert any(name.endswith("/LICENSE") for name in names)
    (source,) = folder.glob("holdfast_client-*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/holdfast_client/{file}" for file in FILES} | {"README.md", "LICENSE", "pyproject.toml"} <= names


def test_the_readme_runs_in_an_empty_environment(api: Api, folder: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (wheel,) = folder.glob("holdfast_client-*.whl")
    constraints = root / "clients" / "python" / "requirements.txt"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--constraint", str(constraints), str(wheel)], check=True)
    listed = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
    installed = {line.partition("==")[0].lower().replace("_", "-") for line in listed.split()}
    installed -= {"exceptiongroup", "typing-extensions"}  # of older Pythons
    assert installed == {"holdfast-client", "httpx", "httpcore", "h11", "anyio", "idna", "certifi", "standardwebhooks"}

    readme = (root / "clients" / "python" / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks[0].splitlines()) <= 15
    text = "".join(blocks).replace("http://127.0.0.1:8080", api.url).replace("change-me-at-once", KEY)
    program = tmp_path / "program.py"
    program.write_text(text)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "--cache-dir", str(tmp_path), "program.py"]
    subprocess.run(mypy, check=True, cwd=tmp_path)
    ran = subprocess.run([python, "-W", "error", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    for line in ("CONFIRMED 2", "['A-1-1'] are taken; 1 of them are free", "98 seats are left", "True"):
        assert line in ran.stdout.splitlines()

    # The lines of the project's README, for an API that wants a key.
    (front,) = re.findall(r"^```python\n(.*?)^```", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    program.write_text(front.replace('"http://127.0.0.1:8080"', f'"{api.url}", "{KEY}"'))
    subprocess.run(mypy, check=True, cwd=tmp_path)
    assert subprocess.run([python, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "1\n"
