import { connect } from "node:net";
import type { LineConnection, LineReader } from "./line-feed.js";

/** @internal The lines of a gateway's tcp sink. */
export function tcpLines(host: string, port: number, reader: LineReader): LineConnection {
  const socket = connect(port, host);
  socket.setEncoding("latin1").setNoDelay(true);
  socket.on("connect", () => reader.opened());
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
