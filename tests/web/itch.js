// Sends ITCH 5.0 in MoldUDP64, from the first message of a session on. Layouts: Nasdaq TotalView-ITCH 5.0, MoldUDP64 1.00.
import dgram from "node:dgram";

/** Prices are in 1/10000. */
export class ItchSender {
  #socket = dgram.createSocket("udp4");
  #port;
  #session;
  #sequence = 1n;
  #match = 1n;
  #stocks = new Map(); // locate numbers

  /** session: at most ten characters. */
  constructor(port, session = String(Date.now()).slice(-10)) {
    this.#port = port;
    this.#session = session.padEnd(10);
  }

  #message(type, stock, bytes) {
    const message = Buffer.alloc(bytes);
    message.write(type, 0, "ascii");
    message.writeUInt16BE(this.#stocks.get(stock) ?? 0, 1);
    message.writeUIntBE((Date.now() % 86_400_000) * 1e6, 5, 6);
    return message;
  }

  static #name(message, at, stock) {
    message.write(stock.padEnd(8), at, "ascii");
  }

  async #send(...messages) {
    const header = Buffer.alloc(20);
    header.write(this.#session, 0, "ascii");
    header.writeBigUInt64BE(this.#sequence, 10);
    header.writeUInt16BE(messages.length, 18);
    const blocks = messages.flatMap((message) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length, 0);
      return [length, message];
    });
    this.#sequence += BigInt(messages.length);
    await new Promise((done) => { this.#socket.send(Buffer.concat([header, ...blocks]), this.#port, "127.0.0.1", done); });
  }

  /** Begins the session: system events, then the directory. */
  async start(stocks) {
    const directory = stocks.map((stock) => {
      this.#stocks.set(stock, this.#stocks.size + 1);
      const message = this.#message("R", stock, 39);
      ItchSender.#name(message, 11, stock);
      message.write("Q", 19, "ascii");
      message.write("N", 20, "ascii");
      message.writeUInt32BE(100, 21);
      message.write("NC", 25, "ascii");
      message.write("Z PN1NN", 27, "ascii");
      return message;
    });
    for (const code of "OSQ") await this.event(code);
    for (const message of directory) await this.#send(message);
    for (const stock of stocks) await this.state(stock, "T");
  }

  /** A system event, such as "C" for the end of messages. */
  async event(code) {
    const message = this.#message("S", "", 12);
    message.write(code, 11, "ascii");
    await this.#send(message);
  }

  async state(stock, state, reason = "    ") {
    const message = this.#message("H", stock, 25);
    ItchSender.#name(message, 11, stock);
    message.write(state, 19, "ascii");
    message.write(reason.padEnd(4), 21, "ascii");
    await this.#send(message);
  }

  async order(id, stock, side, price, shares) {
    const message = this.#message("A", stock, 36);
    message.writeBigUInt64BE(BigInt(id), 11);
    message.write(side, 19, "ascii");
    message.writeUInt32BE(shares, 20);
    ItchSender.#name(message, 24, stock);
    message.writeUInt32BE(price, 32);
    await this.#send(message);
  }

  /** An execution of an order; returns the number of its trade. */
  async execute(id, stock, shares) {
    const message = this.#message("E", stock, 31);
    message.writeBigUInt64BE(BigInt(id), 11);
    message.writeUInt32BE(shares, 19);
    message.writeBigUInt64BE(this.#match, 23);
    await this.#send(message);
    this.#match += 1n;
    return this.#match - 1n;
  }

  async cancel(id, stock) {
    const message = this.#message("D", stock, 19);
    message.writeBigUInt64BE(BigInt(id), 11);
    await this.#send(message);
  }

  /** A trade of an order that was not displayed. */
  async hiddenTrade(stock, price, shares) {
    const message = this.#message("P", stock, 44);
    message.write("B", 19, "ascii");
    message.writeUInt32BE(shares, 20);
    ItchSender.#name(message, 24, stock);
    message.writeUInt32BE(price, 32);
    message.writeBigUInt64BE(this.#match, 36);
    this.#match += 1n;
    await this.#send(message);
  }

  async breakTrade(stock, match) {
    const message = this.#message("B", stock, 19);
    message.writeBigUInt64BE(match, 11);
    await this.#send(message);
  }

  async imbalance(stock, { paired, left, side, near }) {
    const message = this.#message("I", stock, 50);
    message.writeBigUInt64BE(BigInt(paired), 11);
    message.writeBigUInt64BE(BigInt(left), 19);
    message.write(side, 27, "ascii");
    ItchSender.#name(message, 28, stock);
    message.writeUInt32BE(near, 36);
    message.writeUInt32BE(near, 40);
    message.writeUInt32BE(near, 44);
    message.write("C", 48, "ascii");
    message.write("L", 49, "ascii");
    await this.#send(message);
  }

  async collar(stock, { reference, lower, upper }) {
    const message = this.#message("J", stock, 35);
    ItchSender.#name(message, 11, stock);
    message.writeUInt32BE(reference, 19);
    message.writeUInt32BE(upper, 23);
    message.writeUInt32BE(lower, 27);
    await this.#send(message);
  }

  /** Skips sequence numbers, like lost datagrams. */
  lose(count) {
    this.#sequence += BigInt(count);
  }

  close() {
    this.#socket.close();
  }
}
