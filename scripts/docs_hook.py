"""What GitHub does with a page and MkDocs does not; mkdocs.yml names this file.

A link that leaves docs/ leads to the repository, where GitHub shows the file. A list needs no empty
line before it. A vertical line within code has a backslash in a table. The site brings its own
Mermaid.
"""

import logging
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.docs")
link = re.compile(r"(\]\()((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")
item = re.compile(r"(?:[-*]|1\.) ")
code = re.compile(r"`[^`]*`")


def in_repository(text, page, config):
    docs = Path(config["docs_dir"])
    root = Path(config["config_file_path"]).parent

    def replaced(match):
        target = Path(os.path.normpath(docs / Path(page.file.src_uri).parent / match[2]))
        if target.is_relative_to(docs):
            return match[0]
        if not target.exists() or not target.is_relative_to(root):
            log.warning("%s links to %s, which is not there", page.file.src_uri, match[2])
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        address = f"{config['repo_url']}/{kind}/main/{target.relative_to(root)}"
        return f"{match[1]}{address}{match[3] or ''})"

    return link.sub(replaced, text)


def lists_apart(text):
    lines = []
    fenced = False
    listed = False  # Within a list, which an empty line would tear apart.
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced:
            if item.match(line):
                if not listed and lines and lines[-1]:
                    lines.append("")
                listed = True
            elif not line:
                listed = False
        lines.append(line)
    return "\n".join(lines)


def without_backslashes(text):
    return "\n".join(
        code.sub(lambda match: match[0].replace(r"\|", "|"), line) if line.startswith("|") else line
        for line in text.split("\n")
    )


def on_page_markdown(markdown, page, config, files):
    return without_backslashes(lists_apart(in_repository(markdown, page, config)))


def on_files(files, config):
    source = os.environ.get("ONCEWARD_MERMAID")
    if source:
        script = "assets/mermaid.min.js"
        files.append(File.generated(config, script, content=Path(source).read_bytes()))
        config["extra_javascript"].append(script)
    return files
