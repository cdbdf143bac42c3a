"""What `make docs` does beside MkDocs: links that leave docs/, and a search that works in files as well.

MkDocs calls these functions: mkdocs.yml names this file.
"""

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!reference/)([^)#]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page of the site."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Where a page links to a file outside docs/, the site names the file."""
    if "/" in page.file.src_uri:  # a reference page: ../ is docs/ itself
        return markdown
    return OUTSIDE.sub(lambda link: link[1] if link[1] in link[2] else f"{link[1]} (`{link[2]}`)", markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Writes the search's index as a script too: browsers read no other data from files."""
    folder = Path(config["site_dir"]) / "search"
    (folder / "search_index.js").write_text(f"var searchIndex = {(folder / 'search_index.json').read_text()};\n")
