"""A Sphinx extension: man pages as pages of the site, and names such as dtlaunch(1) as links to them.

mandoc turns a page into HTML. Its sections become sections of the site, under the ids that mandoc gives
them, so that they are in the contents; what they hold stays HTML.
"""
import html
import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.parsers import Parser
from sphinx.util import logging

NAME = r"\b(dt(?:launch|train|agent|ring|guard)[\w.-]*)\(([1-8])\)"
# A name, and the section that stands behind it: dtlaunch(1), LIBRARIES INSIDE.
OURS = re.compile(NAME + r"(?:(,\s+)([A-Z]+(?:\s+[A-Z]+)*))?")
SECTION = re.compile(r'<section class="S[hs]">|</section>|<h[12] class="S[hs]" id="([^"]*)">(.*?)</h[12]>', re.S)
NO_TEXT = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.raw)
SHORT = 28  # characters, which fit any screen
logger = logging.getLogger(__name__)


def plain(text):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


def sections_of(docname, env):
    """The headings of a man page."""
    source = Path(env.doc2path(docname)).read_text()
    return {heading.strip('"') for heading in re.findall(r"^\.S[hs] (.*)$", source, re.M)}


def links_of(match, env, where):
    """(text, page or None, part of the page) for a name like dtlaunch(1), and for a section behind it."""
    docname, name = f"man/{match[1]}.{match[2]}", f"{match[1]}({match[2]})"
    if docname not in env.found_docs:
        logger.warning("there is no page %s", name, location=where)
        return [(match[0], None, "")]
    pieces = [(name, docname, "")]
    words = (match[4] or "").split()
    for count in range(len(words), 0, -1):
        if " ".join(words[:count]) in sections_of(docname, env):
            pieces += [(match[3], None, ""), (" ".join(words[:count]), docname, "#" + "_".join(words[:count]))]
            return pieces + [(" " + " ".join(words[count:]), None, "")] * (count < len(words))
    return pieces + [((match[3] or "") + (match[4] or ""), None, "")]


class Manual(Parser):
    """Reads a page of mdoc."""
    supported = ("mdoc",)

    def parse(self, inputstring, document):
        env = document.settings.env
        command = ["mandoc", "-T", "html", "-O", "fragment", "-I", "os="]
        page = subprocess.run(command, input=inputstring, capture_output=True, text=True, check=True).stdout
        body = re.search(r'<div class="manual-text">\n(.*)</div>\s*<table class="foot">', page, re.S)[1]
        name, _, number = env.docname.rpartition("/")[2].rpartition(".")
        top = nodes.section("", nodes.title("", f"{name}({number})"), ids=[f"{name}.{number}"], classes=["manual"])
        document += top
        self.fill(top, link_names(link_references(wrap_tables(body)), env))

    def fill(self, top, body):
        """Puts the sections of mandoc's HTML below a node."""
        open_sections, at = [top], 0
        for match in SECTION.finditer(body):
            self.add_html(open_sections[-1], body[at:match.start()])
            at = match.end()
            if match[0].startswith("<section"):
                section = nodes.section()
                open_sections[-1] += section
                open_sections.append(section)
            elif match[0] == "</section>":
                open_sections.pop()
            else:
                open_sections[-1]["ids"].append(match[1])
                open_sections[-1] += nodes.title("", plain(match[2]))
        self.add_html(open_sections[-1], body[at:])

    @staticmethod
    def add_html(node, text):
        if text.strip():
            node += nodes.raw("", text, format="html")


def wrap_tables(body):
    """Tables that are wider than the screen scroll by themselves."""
    return re.sub(r'<table class="Bl-column.*?</table>', r'<div class="wide">\g<0></div>', body, flags=re.S)


def link_references(body):
    """Makes text of the names of our pages, and a link of their sections, whichever of the two comes first."""
    ids = set(re.findall(r'\bid="([^"]*)"', body))

    def section(match):
        if match[1] in ids:
            return match[0]
        page = match[3] and re.fullmatch(NAME, match[3])
        where = f'<a href="{page[1]}.{page[2]}.html#{match[1]}">{match[2]}</a>' if page else match[2]
        return where + (f" in {match[3]}" if match[3] else "")
    body = re.sub(r'<a class="Xr">([^<]*)</a>', lambda match: match[1] if re.fullmatch(NAME, match[1]) else
                  f'<span class="Xr">{match[1]}</span>', body)
    return re.sub(r'<a class="Sx" href="#([^"]*)">([^<]*)</a>(?:\s+in\s+([\w.-]+\(\d\)))?', section, body)


def link_names(body, env):
    """Names of pages in running text, which is neither a link nor literal."""
    def as_html(match):
        return "".join(f'<a class="Xr" href="{page.rpartition("/")[2]}.html{part}">{text}</a>' if page else text
                       for text, page, part in links_of(match, env, env.docname))
    parts, depth = re.split(r"(<[^>]*>)", body), 0
    for index, part in enumerate(parts):
        if re.match(r"</?(?:a|pre|code|h[1-6])\b", part):
            depth += -1 if part.startswith("</") else 1
        elif not part.startswith("<") and depth == 0:
            parts[index] = OURS.sub(as_html, part)
    return "".join(parts)


def join_lines(doctree):
    """Makes one text of a paragraph's lines: a name and its section may be on two."""
    for element in list(doctree.findall(nodes.TextElement)):
        joined = []
        for child in element.children:
            if isinstance(child, nodes.Text) and joined and isinstance(joined[-1], nodes.Text):
                joined[-1] = nodes.Text(joined[-1] + child)
            else:
                joined.append(child)
        element.children = []
        element.extend(joined)


def mark_short_words(doctree):
    """A short command or option in the text keeps its dashes on one line."""
    for literal in doctree.findall(nodes.literal):
        if len(literal.astext()) <= SHORT:
            literal["classes"].append("short")


def link_guides(app, doctree, docname):
    """Names of man pages in the running text of guides become links."""
    join_lines(doctree)
    mark_short_words(doctree)
    for text in list(doctree.findall(nodes.Text)):
        node = text.parent
        while node is not None and not isinstance(node, NO_TEXT):
            node = node.parent
        if node is not None or not OURS.search(text):
            continue
        pieces, at = [], 0
        for match in OURS.finditer(text):
            pieces.append(nodes.Text(text[at:match.start()]))
            at = match.end()
            for words, page, part in links_of(match, app.env, docname):
                uri = page and app.builder.get_relative_uri(docname, page) + part
                pieces.append(nodes.reference("", words, refuri=uri, internal=True, classes=["short"])
                              if page else nodes.Text(words))
        text.parent.replace(text, [*pieces, nodes.Text(text[at:])])


def setup(app):
    app.add_source_parser(Manual)
    app.connect("doctree-resolved", link_guides)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
