#!/usr/bin/env python3
"""The server of Kubeflow's Trainer that hears how far a TrainJob is, over HTTPS.

    trainjob_server.py FOLDER CERTIFICATE KEY

FOLDER/port gets its port. FOLDER/posts gets a line of JSON for each request. FOLDER/answer has the status of the
answers, if it is not 200.
"""
import http.server
import json
import os
import ssl
import sys
import time


class Service(http.server.BaseHTTPRequestHandler):
    folder = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = 200
        if os.path.exists(self.folder + "/answer"):
            with open(self.folder + "/answer", encoding="utf-8") as file:
                answer = int(file.read())
        post = {"time": time.monotonic(), "path": self.path, "token": self.headers["Authorization"],
                "type": self.headers["Content-Type"], "body": json.loads(body)}
        with open(self.folder + "/posts", "a", encoding="utf-8") as file:
            file.write(json.dumps(post) + "\n")
        self.send_response(answer, self.headers["Authorization"])  # as a server that repeats what it got
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # handshakes that the client ends
        pass


def main():
    Service.folder, certificate, key = sys.argv[1:]
    server = Server(("127.0.0.1", 0), Service)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(Service.folder + "/port.new", "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(Service.folder + "/port.new", Service.folder + "/port")
    server.serve_forever()


main()
