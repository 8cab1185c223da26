"""Adds pages from outside docs/ to the site, and makes links between files of the repository links of the site."""

import json
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/holdfast-dev/holdfast"

# PAGES are the pages from outside docs/: the file in the repository of each page of the site.
PAGES = {
    "index.md": "README.md",
    "security.md": "SECURITY.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "picker.md": "picker/README.md",
    "plan-editor.md": "editor/README.md",
    "typescript.md": "clients/typescript/README.md",
    "python.md": "clients/python/README.md",
    "chart.md": "deploy/helm/holdfast/README.md",
}
MERMAID = "assets/mermaid.min.js"
LINK = re.compile(r'(\]\(|(?:src|srcset|href)=")([^)"\s]+)')
BADGE = re.compile(r"^\[!\[.*\n", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files, config):
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    document = subprocess.run(["go", "run", "./internal/openapi"], cwd=ROOT, check=True, capture_output=True).stdout
    files.append(File.generated(config, "openapi.json", content=document))
    files.append(File.generated(config, "api.md", content=reference(json.loads(document))))
    files.append(File.generated(config, MERMAID, content=(ROOT / ".build/mermaid/mermaid.min.js").read_text()))
    return files


def on_post_page(output, page, config):
    """Loads Mermaid where there are diagrams. Elsewhere nothing asks for it; without it the theme would load it from another host."""
    if '<pre class="mermaid">' not in output:
        return output
    script = f'<script src="{posixpath.relpath(MERMAID, page.file.url)}"></script>'
    return output.replace('<script id="__config"', script + '<script id="__config"')  # before the theme's own, which looks for it


def reference(document):
    """Returns the page of the API: a table, in which the search finds each route, and the complete reference."""
    lines = ["# API", "", "Download [openapi.json](openapi.json), from which clients can be generated.", "", '<swagger-ui src="openapi.json"/>', "",
             "## Routes", "", "| route | what it does |", "|---|---|"]
    for path, operations in sorted(document["paths"].items()):
        for method, operation in operations.items():
            lines.append(f"| `{method.upper()} {path}` | {operation['summary']} |")
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown, page, config, files):
    source = PAGES.get(page.file.src_uri, "docs/" + page.file.src_uri)
    markdown = BADGE.sub("", markdown)  # a picture from elsewhere
    parts = FENCE.split(markdown)  # every second part is code, whose text is not a link
    for i in range(0, len(parts), 2):
        parts[i] = LINK.sub(lambda m: m[1] + site_link(m[2], source, page.file.src_uri), parts[i])
    return "".join(parts)


def site_link(link, source, page):
    """Returns a link of a file of the repository as a link of a page: to a page, to a file of docs/, or to the repository."""
    path, _, anchor = link.partition("#")
    if page == "api.md" or not path or ":" in path:
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    for name, file in PAGES.items():
        if target == file:
            return relative(name, page, anchor)
    if target.startswith("docs/"):
        return relative(target.removeprefix("docs/"), page, anchor)
    if not (ROOT / target).exists():
        return link  # mkdocs warns of it
    kind = "tree" if (ROOT / target).is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{target}" + (f"#{anchor}" if anchor else "")


def relative(target, page, anchor):
    return posixpath.relpath(target, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")
