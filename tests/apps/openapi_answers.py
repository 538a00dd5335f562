#!/usr/bin/env python3
"""Compares responses of running gateways with their OpenAPI file, both ways: each response matches the file, and
everything that the file describes occurs in a response. Exits with 77 if PyYAML or jsonschema is missing.

  openapi_answers.py OPENAPI --good ADDRESS --bad ADDRESS --locked ADDRESS --token TOKEN
                     --admin ADDRESS --admin-token TOKEN --config FILE --no-admin ADDRESS

good, bad: web sinks with at most one client; the gateway of `bad` has a fault, a halted and an incomplete quote
locked:    web sink that requires the token
admin:     metrics of a gateway whose configuration is FILE; no-admin: of a gateway without an admin token
"""
import argparse
import http.client
import json
import sys
import time

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(missing)
    sys.exit(77)

# Occurs only while the gateway's main thread is stopped.
NOT_ASKED = {("/api/reload", "post", "202")}

# Feeds of the format "quotes" have no trades; the web sink's test has them.
NOT_SEEN = "Instrument.trades."

arguments = argparse.ArgumentParser()
arguments.add_argument("openapi")
for name in ("good", "bad", "locked", "token", "admin", "admin-token", "config", "no-admin"):
    arguments.add_argument("--" + name, required=True)
given = arguments.parse_args()
with open(given.openapi, encoding="utf-8") as file:
    described = yaml.safe_load(file)
asked, faults, seen = set(), [], set()


def schema_of(part, name):
    """JSON Schema for a schema of OpenAPI 3.0, without additional properties. "names" lists the property names for note()."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[1]
        return schema_of(described["components"]["schemas"][name], name)
    made = {key: value for key, value in part.items() if key in ("type", "enum", "required", "minimum", "maximum")}
    if "allOf" in part:
        made["allOf"] = [schema_of(one, name) for one in part["allOf"]]
    if "items" in part:
        made["items"] = schema_of(part["items"], name + "[]")
    if "properties" in part:
        made["properties"] = {key: schema_of(value, f"{name}.{key}") for key, value in part["properties"].items()}
        made["additionalProperties"] = False
        made["names"] = {key: f"{name}.{key}" for key in part["properties"]}
    return {"anyOf": [made, {"type": "null"}]} if part.get("nullable") else made


def named(schema):
    for value in schema.get("names", {}).values():
        yield value
    for part in [*([schema["items"]] if "items" in schema else []), *schema.get("properties", {}).values(), *schema.get("allOf", []),
                 *schema.get("anyOf", [])]:
        yield from named(part)


def note(schema, value):
    """Records which described properties the value has."""
    for part in schema.get("anyOf", []) + schema.get("allOf", []):
        if value is not None:
            note(part, value)
    if isinstance(value, list):
        for one in value:
            note(schema.get("items", {}), one)
    if isinstance(value, dict):
        for key, name in schema.get("names", {}).items():
            if key in value:
                seen.add(name)
                note(schema["properties"][key], value[key])


def check(method, path, status, kind, body):
    route = path.split("?")[0]
    answers = described["paths"].get(route, {}).get(method, {}).get("responses", {})
    asked.add((route, method, status))
    if status not in answers:
        return faults.append(f"{method} {path}: {status} is not described")
    answer = answers[status]
    if "$ref" in answer:
        answer = described["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    for wanted, content in answer.get("content", {}).items():
        if kind.split(";")[0] != wanted:
            faults.append(f"{method} {path}: {status} is {kind}, described as {wanted}")
        if wanted == "application/json":
            schema = schema_of(content["schema"], route)
            every.update(named(schema))
            value = json.loads(body)
            for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
                faults.append(f"{method} {path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
            note(schema, value)


every = set()


def ask(address, path, method="get", **headers):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request(method.upper(), path, headers={key.replace("_", "-"): value for key, value in headers.items()})
    answer = connection.getresponse()
    if answer.status != 101:
        check(method, path, str(answer.status), answer.getheader("Content-Type", ""), answer.read())
    else:
        check(method, path, "101", "", b"")
    return connection, answer


PAGES = ("/api/quotes", "/api/symbols", "/api/instruments?symbol=AAPL", "/api/health", "/api/clients", "/api/history", "/api/events",
         "/api/events.csv", "/health", "/metrics")
for address in (given.good, given.bad):
    for page in PAGES:
        ask(address, page)
ask(given.good, "/api/quotes?symbol=AAPL")
ask(given.good, "/api/quotes?first=0&limit=1")
ask(given.good, "/api/symbols?first=0")
ask(given.good, "/api/quotes?first=x")
ask(given.good, "/api/symbols?first=x")
ask(given.good, "/api/history?step=90")
ask(given.good, "/api/history?source=nobody")
ask(given.good, "/api/events?kind=x")
ask(given.good, "/api/events.csv?kind=x")
ask(given.good, "/api/instruments")
for page in PAGES:
    ask(given.locked, page)
    ask(given.locked, page, Authorization=f"Bearer {given.token}")
    ask(given.good, page, Origin="http://elsewhere.example")
    busy = http.client.HTTPConnection(given.good, timeout=60)
    for _ in range(1_000):  # until it is too much for one connection
        busy.request("GET", page)
        late = busy.getresponse()
        body = late.read()
        if late.status == 429:
            check("get", page, "429", late.getheader("Content-Type", ""), body)
            break
SOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
          "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}
held = ask(given.good, "/ws", **SOCKET)
ask(given.good, "/ws", **SOCKET)
ask(given.locked, "/ws", **SOCKET)
ask(given.good, "/ws", Origin="http://elsewhere.example", **SOCKET)
bearer = f"Bearer {given.admin_token}"


def clients():
    connection = http.client.HTTPConnection(given.locked, timeout=60)
    connection.request("GET", "/api/clients", headers={"Authorization": bearer})
    body = connection.getresponse().read()
    check("get", "/api/clients", "200", "application/json", body)
    return json.loads(body)["clients"]


member = ask(given.locked, "/ws", Authorization=bearer, **SOCKET)
while not (listed := clients()):
    time.sleep(0.1)
ask(given.admin, f"/api/disconnect?sink={listed[0]['sink']}&id={listed[0]['id']}", "post", Authorization=bearer)
ask(given.no_admin, "/api/reload", "post")
ask(given.admin, "/api/reload", "post")
ask(given.no_admin, "/api/disconnect?sink=x&id=1", "post")
ask(given.admin, "/api/disconnect?sink=x&id=1", "post")
ask(given.admin, "/api/disconnect?sink=x&id=1", "post", Origin="http://elsewhere.example", Authorization=bearer)
ask(given.admin, "/api/disconnect?sink=x&id=x", "post", Authorization=bearer)
ask(given.admin, "/api/disconnect?sink=x&id=1", "post", Authorization=bearer)
ask(given.admin, "/api/reload", "post", Origin="http://elsewhere.example", Authorization=bearer)
ask(given.admin, "/api/reload", "post", Authorization=bearer)
with open(given.config, "a", encoding="utf-8") as config:
    config.write("[[tcp]]\nname = 'refused'\nlisten = '192.0.2.1:9100'\n")
ask(given.admin, "/api/reload", "post", Authorization=bearer)

promised = {(path, method, status) for path, methods in described["paths"].items()
            for method, what in methods.items() for status in what["responses"]}
faults += [f"{method} {path}: {status} was never answered" for path, method, status in promised - asked - NOT_ASKED]
faults += [f"{name} was never answered" for name in every - seen if not name.startswith(NOT_SEEN)]
print("\n".join(sorted(set(faults))))
sys.exit(1 if faults else 0)
