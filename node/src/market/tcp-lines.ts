import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { KEEP_ALIVE_MS, type LineConnection, type LineReader } from "./line-feed.js";

/** @internal Connects to a gateway's tcp sink. A token is sent as the first line. */
export function tcpLines(
  host: string,
  port: number,
  tls: boolean | ConnectionOptions | undefined,
  token: string | undefined,
  reader: LineReader,
): LineConnection {
  const secure = tls !== undefined && tls !== false;
  // RFC 6066: an IP address is not a valid server name.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const options = typeof tls === "object" ? tls : {};
  const socket: Socket = secure ? connectTls({ ...named, ...options, host, port }) : connect(port, host);
  socket.setEncoding("utf8").setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  socket.on(secure ? "secureConnect" : "connect", () => {
    if (token !== undefined) socket.write(`${JSON.stringify({ token })}\n`);
    reader.opened();
  });
  socket.on("data", (text: string) => reader.read(text));
  socket.on("error", (error) => reader.error(error.message));
  socket.on("close", () => reader.closed());
  return {
    send: (text) => {
      if (socket.writable) socket.write(text);
    },
    destroy: () => socket.destroy(),
  };
}
