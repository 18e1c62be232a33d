#!/usr/bin/env python3
"""Checks the links of a built site: links.py FOLDER.

Every link to a file of the site leads to one, every part behind # to an id of its page, and nothing is
loaded from elsewhere. Links to other sites are counted, not followed: that would take a network.
"""
import os
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The ids and the links of an HTML file."""
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.update(given[name] for name in ("id", "name") if given.get(name) and (name == "id" or tag == "a"))
        for name in ("href", "src"):
            if given.get(name) and tag != "base":
                self.links.append((tag, name, given[name], self.getpos()[0]))


def complaint(path, pages, folder, tag, name, url):
    """What is wrong with a link of a page, or None."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        loaded = (tag, name) in LOADED and parts.scheme != "data"
        return "is loaded from elsewhere" if loaded else None
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if folder not in target.parents or not target.is_file():
        return "leads to no file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "leads to no part of its page"
    return None


def check(folder):
    """(complaints, number of links within the site, number of links to other sites)"""
    folder = folder.resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    wrong, inside, outside = [], 0, 0
    for path, page in pages.items():
        for tag, name, url, line in page.links:
            if urlsplit(url).scheme or urlsplit(url).netloc:
                outside += 1
            else:
                inside += 1
            what = complaint(path, pages, folder, tag, name, url)
            if what:
                wrong.append(f"{path.relative_to(folder)}:{line}: {url} {what}")
    if not pages:
        wrong.append(f"{folder}: there is no page")
    return wrong, inside, outside


def main():
    wrong, inside, outside = check(Path(sys.argv[1]))
    print("\n".join(wrong + [f"links: {len(wrong)} broken"] if wrong else
                    [f"links: {inside} lead somewhere; {outside} to other sites are not checked"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
