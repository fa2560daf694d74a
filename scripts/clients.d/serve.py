"""Serves a folder over HTTP, with the media types of the public page: serve.py FOLDER FILE. FILE receives the address
once the server listens, in the form that checks.py and checks.js read."""

import functools
import json
import os
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

folder, told = sys.argv[1:]


class Handler(SimpleHTTPRequestHandler):
    extensions_map = {".rss": "application/rss+xml", ".atom": "application/atom+xml", ".ics": "text/calendar",
                      ".json": "application/json", ".js": "text/javascript", ".svg": "image/svg+xml"}

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
with open(told + ".part", "w", encoding="utf-8") as file:
    json.dump({"baseUrl": f"http://127.0.0.1:{server.server_port}"}, file)
os.replace(told + ".part", told)
server.serve_forever()
