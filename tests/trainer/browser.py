"""Debian's headless Chromium, controlled by the DevTools protocol over two pipes, without port or driver."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium")
DEADLINE = 60  # seconds per answer; the first one includes the start


def find_browser():
    """The first of PROGRAMS that is installed, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page, loaded again and again. Use as a context manager."""

    def __init__(self, program):
        self.home = tempfile.TemporaryDirectory()
        environment = dict(os.environ, HOME=self.home.name, XDG_CONFIG_HOME=self.home.name,
                           XDG_CACHE_HOME=self.home.name)
        # The protocol uses descriptors 3 and 4. No sandbox: root has none, and the page is ours.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null', "sh", program,
             "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={self.home.name}/data"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.bytes, self.events, self.last, self.session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.home.cleanup()

    def message(self, deadline):
        """The next message of the browser."""
        out = self.process.stdout.fileno()
        while b"\0" not in self.bytes:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                raise TimeoutError(f"the browser said nothing for {DEADLINE} s")
            data = os.read(out, 1 << 20)
            if not data:
                raise EOFError(f"the browser ended with status {self.process.wait(10)}")
            self.bytes += data
        text, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.last += 1
        call = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            call["sessionId"] = self.session
        self.process.stdin.write(json.dumps(call).encode() + b"\0")
        self.process.stdin.flush()
        deadline = time.monotonic() + DEADLINE
        while True:
            message = self.message(deadline)
            if message.get("id") != self.last:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return message["result"]

    def open(self, path, width, scheme):
        """Loads a file in a window of this size in pixels; scheme: light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.url = path.resolve().as_uri()
        self.call("Page.navigate", url=self.url)
        deadline = time.monotonic() + DEADLINE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(deadline))

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def complaints(self):
        """The page's console messages and network requests since it was opened."""
        found = []
        for event in self.events:
            method, given = event.get("method"), event.get("params", {})
            if method == "Log.entryAdded":
                found.append(f"console: {given['entry']['text']}")
            elif method == "Runtime.consoleAPICalled":
                found.append("console: " + " ".join(str(a.get("value")) for a in given["args"]))
            elif method == "Runtime.exceptionThrown":
                found.append(f"console: {given['exceptionDetails']['text']}")
            elif method == "Network.requestWillBeSent" and given["request"]["url"] != self.url:
                found.append(f"request: {given['request']['url']}")
        return found

    def screenshot(self, path):
        """The whole page, as PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))
