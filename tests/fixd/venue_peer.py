"""A venue for the tests: accepts one connection with a FIX Logon over TLS and checks it with Python's hmac, hashlib and
the program openssl.

venue_peer.py VENUE CERTIFICATE KEY SERVER_NAME FOLDER

FOLDER has the secrets under the names in the examples. Prints "port N", then "accepted" and the Logon's tags, or
"refused: REASON", or "handshake failed: REASON". Answers with a Logon or a Logout, and to a Logout with a Logout.
"""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SOH = "\x01"


def say(text):
    print(text, flush=True)


def parse(data):
    """The fields of the first complete message and the bytes after it, or None."""
    begin = data.find(b"9=")
    length_end = data.find(b"\x01", begin)
    if begin < 0 or length_end < 0:
        return None
    end = length_end + 1 + int(data[begin + 2 : length_end]) + 7
    if len(data) < end:
        return None
    assert data[end - 7 : end - 4] == b"10=", data
    assert int(data[end - 4 : end - 1]) == sum(data[: end - 7]) % 256, data
    fields = [field.split("=", 1) for field in data[:end].decode("latin-1").split(SOH)[:-1]]
    return fields, data[end:]


def message(version, kind, number, sender, target, body):
    now = time.time()
    stamp = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime(now)) + ".%03d" % (now * 1000 % 1000)
    fields = ["35=" + kind, "34=%d" % number, "49=" + sender, "52=" + stamp, "56=" + target] + body
    text = SOH.join(fields) + SOH
    head = "8=" + version + SOH + "9=%d" % len(text) + SOH + text
    return (head + "10=%03d" % (sum(head.encode()) % 256) + SOH).encode()


def secret(folder, name):
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.readline().rstrip("\n")


def mac(key, text, digest):
    return base64.b64encode(hmac.new(key, text, digest).digest()).decode()


def openssl_verifies(key, data, signature, *how):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("data", "signature", "public.pem")]
        for name, content in zip(names, (data.encode(), base64.b64decode(signature, validate=True))):
            with open(name, "wb") as file:
                file.write(content)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", names[2]], check=True)
        command = ["openssl"] + [{"DATA": names[0], "SIGNATURE": names[1], "PUBLIC": names[2]}.get(w, w) for w in how]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def near_now(millis, ahead=0):
    return abs(int(millis) - ahead - time.time() * 1000) < 60_000


def fault(venue, logon, folder):
    """The error of the Logon, or None."""
    raw = logon.get("96", "")
    if "96" in logon and logon.get("95") != str(len(raw)):
        return "RawDataLength"
    order = [logon["52"], "A", logon["34"], logon["49"], logon["56"]]
    if venue == "binance":
        data = SOH.join(["A", logon["49"], logon["56"], logon["34"], logon["52"]])
        how = "pkeyutl -verify -rawin -pubin -inkey PUBLIC -in DATA -sigfile SIGNATURE".split()
        good = openssl_verifies(os.path.join(folder, "binance.pem"), data, raw, *how)
        good = good and logon["553"] == secret(folder, "binance.api-key") and logon["141"] == "Y"
    elif venue == "bybit":
        how = "dgst -sha256 -verify PUBLIC -signature SIGNATURE DATA".split()
        data = "GET/realtime" + logon["30023"]
        good = openssl_verifies(os.path.join(folder, "bybit.pem"), data, raw, *how)
        good = good and near_now(logon["30023"], 5000) and logon["553"] == secret(folder, "bybit.api-key")
    elif venue == "coinbase_exchange":
        key = base64.b64decode(secret(folder, "coinbase.secret"))
        passphrase = secret(folder, "coinbase.passphrase")
        good = raw == mac(key, SOH.join(order + [passphrase]).encode(), hashlib.sha256)
        good = good and (logon["554"], logon["553"], logon["1137"]) == (passphrase, logon["49"], "9")
    elif venue == "coinbase_prime":
        key = secret(folder, "coinbase-prime.secret").encode()
        api_key = secret(folder, "coinbase-prime.api-key")
        passphrase = secret(folder, "coinbase-prime.passphrase")
        text = "".join([logon["52"], "A", logon["34"], api_key, logon["56"], passphrase])
        good = raw == mac(key, text.encode(), hashlib.sha256)
        good = good and (logon["554"], logon["9407"]) == (passphrase, api_key)
    elif venue == "kraken":
        key = base64.b64decode(secret(folder, "kraken.secret"))
        api_key = secret(folder, "kraken.api-key")
        text = "35=A|34=%s|49=%s|56=%s|553=%s|" % (logon["34"], logon["49"], logon["56"], api_key)
        inner = hashlib.sha256((text.replace("|", SOH) + logon["5025"]).encode()).digest()
        good = logon["554"] == mac(key, inner, hashlib.sha512) and logon["553"] == api_key and near_now(logon["5025"])
    elif venue == "kraken_prime":
        key = secret(folder, "kraken-prime.secret").encode()
        text = SOH.join([logon["52"], logon["34"], logon["49"], logon["56"]])
        digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
        good = raw == base64.urlsafe_b64encode(digest).decode()
        good = good and logon["554"] == secret(folder, "kraken-prime.api-key")
    elif venue == "broker_sub_id":
        good = (logon["50"], logon["57"]) == ("TRADER7", "ALGO")
    elif venue == "broker_password":
        wanted = ("fund-prod", secret(folder, "broker.password"), secret(folder, "broker.new-password"))
        good = (logon["553"], logon["554"], logon["925"]) == wanted
    else:
        raise ValueError(venue)
    return None if good else "invalid signature"


def serve(connection, venue, folder):
    data = b""
    number = 0
    while True:
        read = connection.recv(65536)
        if not read:
            return
        data += read
        while (found := parse(data)) is not None:
            fields, data = found
            logon = dict(fields)
            if venue == "broker_sub_id" and (logon.get("50"), logon.get("57")) != ("TRADER7", "ALGO"):
                say("refused: a message without SubIDs")
                return
            number += 1
            ids = (logon["56"], logon["49"])
            if logon["35"] == "A":
                try:
                    wrong = fault(venue, logon, folder)
                except (KeyError, ValueError) as error:
                    wrong = repr(error)
                if wrong is not None:
                    say("refused: " + wrong)
                    connection.sendall(message(logon["8"], "5", number, *ids, ["58=" + wrong]))
                    return
                say("accepted " + " ".join(tag for tag, _ in fields))
                body = ["98=0", "108=" + logon["108"]]
                body += ["141=Y"] if logon.get("141") == "Y" else []
                body += ["1137=" + logon["1137"]] if "1137" in logon else []
                connection.sendall(message(logon["8"], "A", number, *ids, body))
            elif logon["35"] == "5":
                connection.sendall(message(logon["8"], "5", number, *ids, []))


def main():
    venue, certificate, key, server_name, folder = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    named = []
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        say("port %d" % listener.getsockname()[1])
        plain, _ = listener.accept()
        plain.settimeout(60)
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                if named[-1:] != [server_name]:
                    say("refused: SNI %r" % named)
                    return
                serve(connection, venue, folder)
        except (ssl.SSLError, ConnectionError) as error:
            say("handshake failed: %s" % error)


main()
