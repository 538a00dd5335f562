import { randomBytes } from "node:crypto";

/** @internal */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** Most bytes of a message. A book has up to 65,536 orders and 32,768 levels, each a line of up to 300 bytes. */
const MAX_MESSAGE_BYTES = 2 ** 25;

/** @internal Receives the messages and control frames of a FrameReader. */
export interface FrameOwner {
  /** A complete message. */
  text(text: string): void;
  ping(payload: Buffer): void;
  close(payload: Buffer): void;
}

/**
 * Parses the frames of a WebSocket server from chunks of any size.
 *
 * Source: RFC 6455 section 5.
 *
 * ```text
 *   byte 0         byte 1         0, 2 or 8 bytes         payload
 *   F000 opcode    M length:7     length, when 126, 127
 * ```
 *
 * @internal
 */
export class FrameReader {
  #rest: Buffer[] = [];
  #held = 0;
  /** Size of the first frame in `#rest`, as far as it is known. */
  #needed = 0;
  #message: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly owner: FrameOwner) {}

  /** Throws an Error for invalid frames. The connection must then be closed. */
  read(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.#held += bytes.length;
    if (this.#held < this.#needed) return; // joined once, not with each chunk
    let rest = this.#rest.length === 1 ? bytes : Buffer.concat(this.#rest);
    for (;;) {
      const parsed = this.#parseFrame(rest);
      if (parsed === 0) break;
      rest = rest.subarray(parsed);
    }
    this.#rest = rest.length === 0 ? [] : [rest];
    this.#held = rest.length;
  }

  /** Handles the first frame. Returns its size, or 0 if it is incomplete. */
  #parseFrame(bytes: Buffer): number {
    this.#needed = 0;
    if (bytes.length < 2) return 0;
    const opcode = bytes[0]! & 0x0f;
    if ((bytes[0]! & 0x70) !== 0 || (bytes[1]! & 0x80) !== 0) throw new Error("a WebSocket frame of an unknown kind");
    let length = bytes[1]! & 0x7f;
    let at = 2;
    if (length === 126) {
      if (bytes.length < 4) return 0;
      length = bytes.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (bytes.length < 10) return 0;
      length = Number(bytes.readBigUInt64BE(2));
      at = 10;
    }
    if (length + this.#bytes > MAX_MESSAGE_BYTES)
      throw new Error(`a WebSocket message of more than ${MAX_MESSAGE_BYTES} bytes`);
    this.#needed = at + length;
    if (bytes.length < this.#needed) return 0;
    this.#handle(opcode, (bytes[0]! & 0x80) !== 0, bytes.subarray(at, at + length));
    return at + length;
  }

  #handle(opcode: number, last: boolean, payload: Buffer): void {
    if (opcode === OPCODES.ping) this.owner.ping(payload);
    else if (opcode === OPCODES.close) this.owner.close(payload);
    else if (opcode === OPCODES.text || opcode === OPCODES.binary || opcode === OPCODES.continuation) {
      this.#message.push(payload);
      this.#bytes += payload.length;
      if (!last) return;
      const text = Buffer.concat(this.#message).toString("utf8");
      this.#message = [];
      this.#bytes = 0;
      this.owner.text(text);
    } else if (opcode !== OPCODES.pong) throw new Error("a WebSocket frame of an unknown kind");
  }
}

/** @internal A frame of a client, which must be masked. */
export function maskedFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = Buffer.alloc(length < 126 ? 2 : 4);
  header[0] = 0x80 | opcode;
  if (length < 126) header[1] = 0x80 | length;
  else {
    header[1] = 0x80 | 126;
    header.writeUInt16BE(length, 2);
  }
  const mask = randomBytes(4);
  const masked = Buffer.from(payload.map((byte, at) => byte ^ mask[at & 3]!));
  return Buffer.concat([header, mask, masked]);
}
