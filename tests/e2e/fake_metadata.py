#!/usr/bin/env python3
"""A cloud's metadata service, as far as notices go, for a host of tests/cluster.

    fake_metadata.py aws|gcp|azure|hangs FOLDER [ADDRESS PORT]

Gives notice once FOLDER/notice exists. FOLDER/asked has a line per request.
AWS's token is valid for three requests.
"""
import datetime
import http.server
import json
import os
import sys
import time


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud = folder = ""
    token = 0
    left = 0

    def do_PUT(self):
        self.note()
        if self.cloud != "aws" or self.path != "/latest/api/token":
            return self.say(404)
        if not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
            return self.say(400)
        Service.token, Service.left = self.token + 1, 3
        return self.say(200, f"token-{self.token}")

    def do_GET(self):
        self.note()
        getattr(self, "as_" + self.cloud)()

    def as_aws(self):
        if self.headers.get("X-aws-ec2-metadata-token") != f"token-{self.token}" or self.left == 0:
            return self.say(401)
        Service.left -= 1
        if self.path != "/latest/meta-data/spot/instance-action" or not self.notice():
            return self.say(404)
        goes = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=120)
        return self.say(200, json.dumps({"action": "terminate", "time": goes.strftime("%Y-%m-%dT%H:%M:%SZ")}))

    def as_gcp(self):
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.say(403)
        if self.path != "/computeMetadata/v1/instance/preempted":
            return self.say(404)
        return self.say(200, "TRUE" if self.notice() else "FALSE")

    def as_azure(self):
        if self.headers.get("Metadata") != "true":
            return self.say(400)
        if self.path.startswith("/metadata/instance/compute/name?"):
            return self.say(200, "vm-2")
        if not self.path.startswith("/metadata/scheduledevents?"):
            return self.say(404)
        events = [{"EventId": "1", "EventType": "Preempt", "EventStatus": "Scheduled", "Resources": ["vm-1"]}]
        if self.notice():
            events.append({**events[0], "Resources": ["vm-2"]})
        return self.say(200, json.dumps({"DocumentIncarnation": 1, "Events": events}))

    def as_hangs(self):
        time.sleep(3600)

    def notice(self):
        return os.path.exists(self.folder + "/notice")

    def note(self):
        with open(self.folder + "/asked", "a", encoding="utf-8") as file:
            file.write(f"{self.command} {self.path}\n")

    def say(self, status, body=""):
        self.send_response(status)
        if self.cloud == "gcp":
            self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def main():
    Service.cloud, Service.folder = sys.argv[1], sys.argv[2]
    address, port = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else ("169.254.169.254", 80)
    os.makedirs(Service.folder, exist_ok=True)
    http.server.ThreadingHTTPServer((address, port), Service).serve_forever()


main()
