import { randomBytes } from "node:crypto";

/** @internal */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** A gateway's message is some 64 KiB long; what is much longer is no gateway. */
const LONGEST = 2 ** 24;

/** @internal What a FrameReader finds. */
export interface FrameOwner {
  /** A whole message. */
  text(text: string): void;
  ping(payload: Buffer): void;
  close(payload: Buffer): void;
}

/**
 * Takes the frames of a WebSocket server apart, however the bytes were cut.
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
  #rest: Buffer = Buffer.alloc(0);
  #message: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly owner: FrameOwner) {}

  /** Throws an Error that says what was wrong; the connection is then of no more use. */
  read(bytes: Buffer): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const taken = this.#frame(rest);
      if (taken === 0) break;
      rest = rest.subarray(taken);
    }
    this.#rest = rest;
  }

  /** Bytes of the frame at the start, 0 while it is not whole. */
  #frame(bytes: Buffer): number {
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
    if (length + this.#bytes > LONGEST) throw new Error(`a WebSocket message of more than ${LONGEST} bytes`);
    if (bytes.length < at + length) return 0;
    this.#take(opcode, (bytes[0]! & 0x80) !== 0, bytes.subarray(at, at + length));
    return at + length;
  }

  #take(opcode: number, last: boolean, payload: Buffer): void {
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

/** @internal One frame from a client, which must mask what it sends. */
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
