"""A store that answers as etcd's JSON gateway does, in the same process, and misbehaves as a test wants."""

import base64
import json
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler


def text(encoded):
    return base64.b64decode(encoded)


class FakeEtcd:
    """`behave(number)` -> how to answer that request: "whole", "pieces", "cut" (carried out, half a reply), "busy" (503) or "silent"."""

    def __init__(self, behave=lambda number: "whole"):
        self.behave, self.lock, self.requests = behave, threading.Lock(), 0
        self.clients = []  # the port of each request's connection
        self.revision, self.keys, self.leases = 1, {}, {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                fake.answer(self)

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, allow_reuse_address = True, True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.endpoint = "etcd://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            self.requests += 1
            self.clients.append(request.client_address[1])
            how = self.behave(self.requests)
            if how == "busy":
                status, reply = 503, {"error": "etcdserver: no leader", "code": 14, "message": "etcdserver: no leader"}
            elif how == "silent":
                request.close_connection = True
                return
            else:
                self.expire()
                status, reply = 200, getattr(self, request.path.replace("/v3/", "").replace("/", "_"))(body)
        data = json.dumps(reply).encode()
        request.send_response(status)
        if how == "pieces":
            request.send_header("Transfer-Encoding", "chunked")
            request.end_headers()
            for byte in data:
                request.wfile.write(b"1\r\n%c\r\n" % byte)
                request.wfile.flush()
            request.wfile.write(b"0\r\n\r\n")
            return
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data[: len(data) // 2] if how == "cut" else data)
        request.close_connection = how == "cut"

    # --- what etcd does ---

    def reply(self, **fields):
        return {"header": {"revision": str(self.revision)}, **{name: value for name, value in fields.items() if value}}

    def expire(self):
        now = time.monotonic()
        for lease in [lease for lease, (_, end) in self.leases.items() if end < now]:
            self.end(lease)

    def end(self, lease):
        self.leases.pop(lease, None)
        for key in [key for key, entry in self.keys.items() if entry["lease"] == lease]:
            del self.keys[key]

    def kv_range(self, body):
        first, end = text(body["key"]), text(body["range_end"])
        found = [
            {"key": base64.b64encode(key).decode(), **{name: value for name, value in entry.items() if value != "0"}}
            for key, entry in sorted(self.keys.items())
            if first <= key < end
        ]
        return self.reply(kvs=found, count=str(len(found)))

    def holds(self, compare):
        entry = self.keys.get(text(compare["key"]), {"create_revision": "0", "mod_revision": "0", "value": None})
        name = {"CREATE": "create_revision", "MOD": "mod_revision", "VALUE": "value"}[compare["target"]]
        return entry[name] == compare[name]

    def kv_txn(self, body):
        if not all(self.holds(each) for each in body["compare"]):
            return self.reply()
        self.revision += 1
        for action in body["success"]:
            if put := action.get("request_put"):
                old = self.keys.get(text(put["key"]), {"create_revision": str(self.revision)})
                assert put["lease"] in self.leases
                self.keys[text(put["key"])] = {
                    "value": put["value"], "lease": put["lease"], "mod_revision": str(self.revision), "create_revision": old["create_revision"]
                }
            else:
                self.keys.pop(text(action["request_delete_range"]["key"]), None)
        return self.reply(succeeded=True)

    def lease_grant(self, body):
        lease = str(7_000_000_000_000_000_000 + len(self.leases) + self.requests)
        self.leases[lease] = (int(body["TTL"]), time.monotonic() + int(body["TTL"]))
        return self.reply(ID=lease, TTL=body["TTL"])

    def lease_keepalive(self, body):
        seconds = self.leases.get(body["ID"], (0, 0))[0]
        if seconds:
            self.leases[body["ID"]] = (seconds, time.monotonic() + seconds)
        return {"result": self.reply(ID=body["ID"], TTL=seconds and str(seconds))}

    def lease_revoke(self, body):
        self.end(body["ID"])
        return self.reply()
