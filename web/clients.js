// The clients of all sinks, and the readers of the rings in other processes.

import { ask, post, TokenError } from "./connection.js";
import { count, short, span, timeOfDay } from "./format.js";
import { make, morph, setText } from "./morph.js";
import { at } from "./shell.js";
import { statusTable } from "./status-table.js";

const EVERY_MS = 1_000;
/** Lag from which a client counts as slow. */
const SLOW_NS = 1_000_000_000;

const COLUMNS = [
  ["Of", "The sink that it is connected to, or the ring that it reads"],
  ["Connected", "Local time at which it connected"],
  ["Events/s", "Events delivered in the last second"],
  ["Queued", "Events that wait for it"],
  ["Lag", "For how long, at least, the oldest event has waited for it"],
  ["Delivered", "Events delivered since it connected"],
  ["Conflated", "Events that a newer one has replaced before they were sent to it"],
  ["Lost", "Events that it missed because it was too slow"],
  ["", "Disconnecting needs the admin token"],
];

export class Clients {
  #place;
  #clients = [];
  #report = null;
  #filter;

  /** filter(): as of statusTable. */
  constructor(place, filter) {
    this.#place = place;
    this.#filter = filter;
    place.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-client]");
      if (button) askDisconnect(JSON.parse(button.dataset.client));
    });
    this.#poll();
  }

  /** Shows the clients with the readers of a new report. */
  show(report) {
    this.#report = report;
    const readers = report.rings.flatMap((ring) => ring.readers.map((reader) => ({ ...reader, ring: ring.name })));
    const items = [...this.#clients, ...readers];
    morph(this.#place, statusTable(this.#place, {
      first: "Client", columns: COLUMNS, items, filter: this.#filter(),
      key: (one) => (one.ring === undefined ? `${one.sink} ${one.id}` : `${one.ring} ${one.pid} ${one.name}`),
      state: (one) => (one.ring === undefined ? clientState(one) : readerState(one)),
      row: (one) => (one.ring === undefined ? clientRow(one, report) : readerRow(one)),
    }));
    setText(at("clients-count"), `${count(this.#clients.length)} of sinks, ${count(readers.length)} of rings`);
  }

  async #poll() {
    if (this.#report !== null && this.#place.checkVisibility()) {
      try {
        this.#clients = (await ask("api/clients")).clients;
        this.show(this.#report);
      } catch {
        // The link reports a gateway that does not answer.
      }
    }
    setTimeout(() => this.#poll(), EVERY_MS);
  }
}

const clientState = ({ missed, lag_ns: lag }) => (missed > 0 ? "error" : lag > SLOW_NS ? "warning" : "good");
const readerState = ({ alive, missed }) => (!alive || missed > 0 ? "error" : "good");
const lost = (missed) => [count(missed), missed > 0 ? "error" : ""];

function clientRow(client, report) {
  const button = make("button", { type: "button", "data-client": JSON.stringify({ sink: client.sink, id: client.id, peer: client.peer }) }, "Disconnect");
  return {
    name: client.peer, more: client.name,
    values: [
      client.sink, timeOfDay(client.connected).slice(0, 8), short(client.delivered_per_second), short(client.queued),
      [span(client.lag_ns), client.lag_ns > SLOW_NS ? "warning" : ""], short(client.delivered), short(client.conflated), lost(client.missed),
      report.gateway.admin ? [button, ""] : "",
    ],
  };
}

function readerRow({ name, pid, uid, ring, alive, behind, missed }) {
  return {
    name, more: `process ${pid} of user ${uid}`,
    values: [`ring ${ring}`, alive ? "reading" : ["dead", "error"], "", short(behind), "", "", "", lost(missed), ""],
  };
}

/** Asks for the admin token, and says what will happen. */
function askDisconnect({ sink, id, peer }) {
  setText(at("disconnect-what"), `${peer} of sink “${sink}” loses its connection within two seconds, and the events that wait for it. It may connect again at once.`);
  setText(at("disconnect-wrong"), "");
  const dialog = at("disconnect");
  const form = at("disconnect-form");
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      await post(`api/disconnect?${new URLSearchParams({ sink, id })}`, at("admin-token").value.trim());
      at("admin-token").value = "";
      dialog.close();
    } catch (error) {
      setText(at("disconnect-wrong"), error instanceof TokenError ? "The gateway did not accept this admin token." : `Not disconnected: ${error.message}`);
    }
  };
  dialog.showModal();
}
