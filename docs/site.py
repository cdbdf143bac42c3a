"""What `make docs` does beside MkDocs: links that leave docs/, names that would be left out, colours, search in files.

MkDocs calls these functions: mkdocs.yml names this file.
"""

import re
from pathlib import Path
from typing import Any

from pygments.formatters import HtmlFormatter

SOURCE = Path(__file__).parent.parent / "src"

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!reference/)([^)#]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page of the site."""


NAMESAKE = """
::: {module}.{name}
    options: {{ heading: {name}, toc_label: {name}, heading_level: 3 }}
"""
"""The entry of a function that is called as its module is."""


def namesakes(package: str) -> str:
    """Entries for functions like takeup.analysis.analyse: mkdocstrings sees the module of that name in their place."""
    init = SOURCE.joinpath(*package.split("."), "__init__.py")
    lines = init.read_text().splitlines() if init.exists() else []
    imports = [re.fullmatch(rf"from ({re.escape(package)}\.(\w+)) import (.*)", line) for line in lines]
    found = [(each[1], each[2]) for each in imports if each and each[2] in each[3].split(", ")]
    return "".join(NAMESAKE.format(module=module, name=name) for module, name in found)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Where a page links to a file outside docs/, the site names the file; a reference page gets what is left out."""
    if "/" in page.file.src_uri:  # a reference page: ../ is docs/ itself
        return re.sub(r"^::: (\S+)$", lambda line: f"{line[0]}\n{namesakes(line[1])}", markdown, flags=re.M)
    return OUTSIDE.sub(lambda link: link[1] if link[1] in link[2] else f"{link[1]} (`{link[2]}`)", markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Writes the colours of code, and the search's index as a script too: browsers read no other data from files."""
    light, dark = (HtmlFormatter(style=style).get_style_defs(".highlight") for style in ("xcode", "zenburn"))
    with (Path(config["site_dir"]) / "site.css").open("a") as file:
        file.write(f"@media screen {{\n{light}\n}}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n")
    folder = Path(config["site_dir"]) / "search"
    (folder / "search_index.js").write_text(f"var searchIndex = {(folder / 'search_index.json').read_text()};\n")
