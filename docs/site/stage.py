"""Copies what the site shows into one folder, at the same relative paths, and writes its indexes.

Links in Markdown stay as they are where they lead to another page. A link to README.md leads to the
first page, one to a folder to its README.md, and one whose text or target names a man page to that page.
A link to any other file of the tree, which has no page, becomes its text.
"""
import os
import re
import shutil
from pathlib import Path

# The guides, in the order in which a newcomer reads them. Others in docs/ follow by name.
GUIDES = ("install", "first-cluster", "fine-tuning", "from-mpirun", "manual", "performance")
PROJECT = ("CHANGELOG", "CONTRIBUTING", "ARCHITECTURE", "SECURITY", "wire/PROTOCOL", "bench/README",
           "tests/cluster/README")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
MAN_PAGE = re.compile(r"^[`*]*([\w.-]+)\((\d)\)[`*]*$")
SECTIONS = {"1": "Commands", "3": "Library", "5": "Files", "7": "Overviews", "8": "Services"}

INDEX = """# dtlaunch

dtlaunch {version} starts distributed training on CPU servers, watches it and ends it as one job.
Its library libdtring adds up gradients, and its trainer dttrain fine-tunes BERT-like models.

{lists}
## Reference

- [Manual pages](man/index.md): every option, file format and exit status
{project}

{toctrees}
"""


def toctree(caption, entries, depth=1):
    lines = ["```{toctree}", f":maxdepth: {depth}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""]
    return "\n".join(lines) if entries else ""


def man_pages(root):
    """The pages of man/, by section and name."""
    return sorted((root / "man").glob("*.[1-8]"), key=lambda page: (page.suffix, page.stem))


def description(page):
    """What a man page says of itself in .Nd."""
    return re.search(r"^\.Nd (.*)$", page.read_text(), re.M)[1]


def title_of(page):
    return re.search(r"^# (.*)$", page.read_text(), re.M)[1]


class Stage:
    def __init__(self, root, folder, version):
        self.root, self.folder, self.version = root, folder, version
        self.examples = [*root.glob("examples/README.md"), *sorted(root.glob("examples/*/README.md"))]
        self.releases = sorted(root.glob("docs/releases/*.md"), reverse=True)
        found = {page.stem: page for page in sorted(root.glob("docs/*.md"))}
        self.guides = [found.pop(name) for name in GUIDES if name in found] + list(found.values())
        self.project = [path for name in PROJECT if (path := root / f"{name}.md").is_file()]
        self.pages = {*self.guides, *self.releases, *self.examples, *self.project}

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, page, match):
        """A link of a page, as the site has it."""
        target, _, anchor = match["target"].partition("#")
        anchor = anchor and "#" + anchor
        up = os.path.relpath(".", Path(self.name(page)).parent)
        manual = MAN_PAGE.match(match["text"]) or re.search(r"([\w.-]+)\.(\d)$", target)
        if manual and (self.root / "man" / f"{manual[1]}.{manual[2]}").is_file():
            return f"[{match['text']}]({up}/man/{manual[1]}.{manual[2]}.mdoc{anchor})"
        path = Path(os.path.normpath(page.parent / target))
        if not target or ":" in target or path in self.pages:
            return match[0]
        if path == self.root / "README.md":
            return f"[{match['text']}]({up}/index.md)"
        if path / "README.md" in self.pages:
            return f"[{match['text']}]({target.rstrip('/')}/README.md)"
        if match["image"] and path.is_file():
            self.put_image(path)
            return match[0]
        return match["text"] if path.exists() and self.root in path.parents else match[0]

    def put_image(self, path):
        copy = self.folder / self.name(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)

    def put_page(self, page):
        lines = page.read_text().split("\n")
        lines = [line if line.startswith("    ") else LINK.sub(lambda match: self.link(page, match), line)
                 for line in lines]
        self.put(self.name(page), "\n".join(lines))

    def put_indexes(self):
        def bullets(pages):
            return "".join(f"- [{title_of(page)}]({self.name(page)})\n" for page in pages)
        groups = {"Guides": self.guides, "Examples": self.examples, "Reference": ["man/index.md"],
                  "Releases": self.releases, "Project": self.project}
        toctrees = [toctree(caption, [page if isinstance(page, str) else self.name(page) for page in pages])
                    for caption, pages in groups.items()]
        lists = [f"## {name}\n\n{bullets(groups[name])}" for name in ("Guides", "Examples") if groups[name]]
        self.put("index.md", INDEX.format(version=self.version, lists="\n".join(lists),
                                            project=bullets(self.releases + self.project),
                                            toctrees="\n".join(toctrees)))
        self.put_manual_index()

    def put_manual_index(self):
        lines, section = ["# Manual pages", ""], None
        for page in man_pages(self.root):
            number = page.suffix[1:]
            if section != number:
                section = number
                lines += ["", f"## {SECTIONS.get(number, 'Section ' + number)}", ""]
            lines.append(f"- [{page.stem}({number})]({page.name}.mdoc): {description(page)}")
        entries = [f"{page.stem}({page.suffix[1:]}) <{page.name}>" for page in man_pages(self.root)]
        self.put("man/index.md", "\n".join([*lines, "", toctree("Manual pages", entries)]))

    def write(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for page in self.pages:
            self.put_page(page)
        for page in man_pages(self.root):
            self.put(f"man/{page.name}.mdoc", page.read_text())
        self.put_indexes()
