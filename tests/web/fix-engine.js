// A FIX engine for one test, and a counterparty of its sessions.
import { spawn } from "node:child_process";
import net from "node:net";

import { PROGRAM } from "./gateway.js";

export const PAGE = /page: (http:\S+)/;
export const PORT = /listening on 127\.0\.0\.1:(\d+)/;

/** Starts `millpond fix ...`. marks: texts to wait for. state: its state folder, in a configuration that names none. */
export async function startFix(args, marks, state) {
  const child = spawn(PROGRAM, ["fix", ...args], { env: { ...process.env, XDG_STATE_HOME: state } });
  let said = "";
  await new Promise((done, failed) => {
    const hear = (data) => {
      said += data;
      if (marks.every((mark) => mark.test(said))) done();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => failed(new Error(`fix ended (${code}): ${said}`)));
  });
  const ended = new Promise((done) => { child.on("exit", done); });
  return {
    word: (mark) => mark.exec(said)[1],
    signal: (name) => child.kill(name),
    async stop(name = "SIGTERM") {
      child.kill(name);
      await ended;
    },
  };
}

const SOH = "\x01";

/** A counterparty that sends what it is told to. */
export class Counterparty {
  #socket;
  #names;
  #number;

  /** names: its CompID and the engine's. number: of its first message. */
  constructor(port, names, number = 1) {
    this.#names = names;
    this.#number = number;
    this.#socket = net.connect({ port, host: "127.0.0.1" });
    this.#socket.on("error", () => {});
    this.#socket.resume();
  }

  /** Sends a message with these fields, each followed by '|'. skip: numbers that are left out before it. */
  send(type, fields = "", skip = 0) {
    this.#number += skip;
    const time = new Date().toISOString().replace(/[-Z]/g, "").replace("T", "-");
    const [from, to] = this.#names;
    const body = `35=${type}|34=${this.#number}|49=${from}|52=${time}|56=${to}|${fields}`.replaceAll("|", SOH);
    const text = `8=FIX.4.4${SOH}9=${body.length}${SOH}${body}`;
    const sum = [...Buffer.from(text, "latin1")].reduce((total, byte) => total + byte, 0) % 256;
    this.#socket.write(`${text}10=${String(sum).padStart(3, "0")}${SOH}`, "latin1");
    this.#number += 1;
  }

  close() {
    this.#socket.destroy();
  }
}
