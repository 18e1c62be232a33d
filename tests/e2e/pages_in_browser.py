"""Opens pages in Debian's headless Chromium, on a phone and on a large screen, in light and dark mode: nothing is
cut, hidden, too faint, fetched or complained about, and nothing is wider than the screen. usage: pages_in_browser.py
[--pictures FOLDER] PAGE..."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
TRAINER = Path(__file__).resolve().parent.parent / "trainer"
sys.path.insert(0, str(TRAINER))
from browser import Browser, find_browser  # noqa: E402

PROBE = (TRAINER / "report_probe.js").read_text()
LOOKS = ((360, "light"), (1280, "dark"))
HEADS = re.compile(r"cut: <th> .* cannot be seen")  # on a phone, each cell names its column instead


def main(arguments):
    pictures = None
    if arguments[0] == "--pictures":
        pictures, arguments = Path(arguments[1]), arguments[2:]
    program = find_browser()
    if not program:
        print("left out, no Chromium: how the pages look. Try: apt-get install chromium-headless-shell")
        return 0
    wrong = 0
    with Browser(program) as browser:
        for name in arguments:
            for width, scheme in LOOKS:
                path = Path(name)
                browser.open(path, width, scheme)
                page = browser.evaluate(PROBE)
                looks = [fault for fault in page["faults"] if width > 960 or not HEADS.fullmatch(fault)]
                faults = browser.complaints() + looks
                if page["dark"] != (scheme == "dark"):
                    faults.append(f"colours: the page is not {scheme}")
                if not page["summary"].strip():
                    faults.append("the page does not say how the job ended")
                for fault in faults:
                    print(f"wrong: {path.name}, {width} pixels, {scheme}: {fault}")
                wrong += len(faults)
                if pictures:
                    browser.screenshot(pictures / f"{path.stem}-{width}-{scheme}.png")
    print(f"looked at {len(arguments)} pages")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
