import { createHash, randomBytes } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import type { Duplex } from "node:stream";
import { KEEP_ALIVE_MS, type LineConnection, type LineReader } from "./line-feed.js";
import { FrameReader, maskedFrame, OPCODES } from "./web-frames.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Status code 1000: normal closure. */
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);

/**
 * Connects to a gateway's web sink over WebSocket. Node 20 has no WebSocket client.
 *
 * Source: RFC 6455.
 *
 * @internal
 */
export function webLines(url: URL, token: string | undefined, reader: LineReader): LineConnection {
  const key = randomBytes(16).toString("base64");
  const request: ClientRequest = (url.protocol === "wss:" ? overHttps : overHttp)({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (url.protocol === "wss:" ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": key,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
  });
  let stream: Duplex | undefined;
  let over = false;
  const end = (fault?: string): void => {
    if (over) return;
    over = true;
    if (fault !== undefined) reader.error(fault);
    request.destroy();
    stream?.destroy();
    reader.closed();
  };
  request.on("error", (error) => end(error.message));
  request.on("response", ({ statusCode, statusMessage }) => end(`not a WebSocket: ${statusCode} ${statusMessage}`));
  request.on("upgrade", (response: IncomingMessage, socket: Duplex, head: Buffer) => {
    stream = socket;
    const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
    if (over || response.headers["sec-websocket-accept"] !== accept) {
      socket.destroy();
      end("not a WebSocket: the answer is to another request");
      return;
    }
    const frames = new FrameReader({
      text: (text) => reader.read(text),
      ping: (payload) => socket.write(maskedFrame(OPCODES.pong, payload)),
      close: (payload) => {
        socket.write(maskedFrame(OPCODES.close, payload.subarray(0, 2)));
        end(payload.length > 2 ? payload.toString("utf8", 2) : undefined);
      },
    });
    const receive = (bytes: Buffer): void => {
      try {
        frames.read(bytes);
      } catch (error) {
        end((error as Error).message);
      }
    };
    socket.on("error", (error) => end(error.message));
    socket.on("close", () => end());
    reader.opened();
    receive(head);
    socket.on("data", receive);
  });
  request.setSocketKeepAlive(true, KEEP_ALIVE_MS);
  request.end();
  return {
    send: (text) => {
      if (stream?.writable === true) stream.write(maskedFrame(OPCODES.text, Buffer.from(text)));
    },
    destroy: () => {
      if (stream?.writable === true) stream.write(maskedFrame(OPCODES.close, NORMAL_CLOSURE));
      end();
    },
  };
}
