"""Generates what is not written by hand, from the OpenAPI document of a running API.

    python generate.py openapi.json

It makes src/holdfast_client/models.py (types of requests and answers) and, from the asynchronous client and
its tests, the synchronous ones: src/holdfast_client/_sync and tests/_sync.
"""

import copy
import json
import keyword
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from unasync import Rule, unasync_files

here = Path(__file__).parent
package = here / "src" / "holdfast_client"


def with_names(document: dict[str, Any]) -> dict[str, Any]:
    """Names the types that the document has without a name: codes, replayed answers, filters of lists, messages of streams."""
    document = copy.deepcopy(document)
    schemas = document["components"]["schemas"]

    code = schemas["Problem"]["properties"]["code"]
    schemas["Code"] = {"type": "string", "enum": code["enum"]}
    schemas["Problem"]["properties"]["code"] = {"$ref": "#/components/schemas/Code"}

    # Answers to requests with an idempotency key. The client adds a field to them, from a header.
    for name in ("Lock", "Booking", "SeatingPlanSummary"):
        answer = schemas[name.removesuffix("Summary") + "Answer"] = copy.deepcopy(schemas[name])
        description = "Whether an earlier request with the same idempotency key was carried out."
        answer["properties"]["replayed"] = {"type": "boolean", "description": description}
        answer["required"].append("replayed")

    for path in document["paths"].values():
        for operation in path.values():
            name = "".join(word.capitalize() for word in operation["operationId"].split("-"))
            query = [p for p in operation.get("parameters", []) if p["in"] == "query"]
            if query:
                schemas[name + "Query"] = {
                    "type": "object",
                    # "from" can't be the name of an argument: it is from_ here, and the client sends from.
                    "properties": {p["name"] + "_" * keyword.iskeyword(p["name"]): p["schema"] for p in query},
                    "required": [p["name"] for p in query if p.get("required")],
                }
            stream = operation["responses"].get("200", {}).get("content", {}).get("text/event-stream")
            for message in stream["schema"]["items"]["oneOf"] if stream else []:
                schemas[message["title"].capitalize() + "Message"] = message
    return document


def generate_models(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "openapi.json")
        source.write_text(json.dumps(with_names(document)))
        command = [sys.executable, "-m", "datamodel_code_generator", "--input", source, "--input-file-type", "openapi"]
        command += ["--output", package / "models.py", "--output-model-type", "typing.TypedDict"]
        command += ["--target-python-version", "3.10", "--formatters", "builtin", "--enum-field-as-literal", "all"]
        command += ["--use-schema-description", "--use-field-description", "--disable-timestamp"]
        command += ["--no-use-closed-typed-dict"]  # which mypy does not know
        command += ["--additional-imports", "typing.final"]
        typing = "holdfast_client._typing"
        command += ["--import-overrides", json.dumps({"NotRequired": typing, "TypedDict": typing})]
        subprocess.run(command, check=True)
    # Types that are final can be told apart by their fields, as in: if "bitmap" in message["data"].
    models = package / "models.py"
    models.write_text(re.sub(r"^class ", "@final\nclass ", models.read_text(), flags=re.MULTILINE))


def generate_sync(folder: Path) -> None:
    """Makes folder/_sync from folder/_async."""
    shutil.rmtree(folder / "_sync", ignore_errors=True)
    replacements = {
        "_async": "_sync",
        "AsyncClient": "Client",
        "AsyncTransport": "Transport",
        "aclose": "close",
        "aclosing": "closing",
        "aiter_bytes": "iter_bytes",
        "anext": "next",
        "aread": "read",
        "async_sleep": "sleep",
        "async_fresh": "fresh",
        "AsyncToken": "Token",
    }
    rule = Rule("/_async/", "/_sync/", replacements)
    unasync_files([str(path) for path in (folder / "_async").glob("*.py")], [rule])


if __name__ == "__main__":
    generate_models(json.loads(Path(sys.argv[1]).read_text()))
    generate_sync(package)
    generate_sync(here / "tests")
    shutil.copy(here.parent.parent / "LICENSE", here)
