// The clients of all sinks, and the readers of the rings in other processes.

import { confirmAction } from "./admin-dialog.js";
import { ask } from "./connection.js";
import { count, short, span, timeOfDay } from "./format.js";
import { make, morph, setText } from "./morph.js";
import { at } from "./shell.js";
import { statusTable } from "./status-table.js";

const EVERY_MS = 1_000;

const COLUMNS = [
  ["Of", "The sink that it is connected to, or the ring that it reads"],
  ["Since", "Local time at which it connected; for a reader, whether its process is alive"],
  ["Events/s", "Events delivered in the last second"],
  ["Queued", "Events that wait for it"],
  ["Lag", "How long the oldest event has waited for it, in whole seconds"],
  ["Delivered", "Events delivered since it connected"],
  ["Conflated", "Events that newer ones replaced before they were sent to it"],
  ["Lost", "Events that it missed because it was too slow"],
  ["Action", "Disconnecting a client needs the admin token (admin_token_file)"],
];

const lost = (missed) => [count(missed), missed > 0 ? "error" : ""];

const lagOf = ({ lag_ns: lag, queued }) => (lag > 0 ? [span(lag), "warning"] : queued > 0 ? "< 1 s" : "–");

function clientOf(client, mayDisconnect) {
  const { sink, id, peer, missed, lag_ns: lag } = client;
  const button = () => make("button", { type: "button", "data-client": JSON.stringify({ sink, id, peer }) }, "Disconnect");
  return {
    key: `${sink} ${id}`, state: missed > 0 ? "error" : lag > 0 ? "warning" : "good", name: peer, more: client.name,
    values: [
      sink, timeOfDay(client.connected).slice(0, 8), short(client.delivered_per_second), short(client.queued), lagOf(client),
      short(client.delivered), short(client.conflated), lost(missed), mayDisconnect ? button() : "",
    ],
  };
}

const readerOf = ({ name: ring }, { name, pid, uid, alive, behind, missed }) => ({
  key: `${ring} ${pid} ${name}`, state: !alive || missed > 0 ? "error" : "good", name, more: `process ${pid} of user ${uid}`,
  values: [`ring ${ring}`, alive ? "alive" : ["dead", "error"], "–", short(behind), "–", "–", "–", lost(missed), ""],
});

export class Clients {
  #place = at("clients");
  #clients = [];
  #report = null;
  #filter;

  /** filter(): as of statusTable. isLive(): whether the gateway answers. */
  constructor(filter, isLive) {
    this.#filter = filter;
    this.#place.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-client]");
      if (button) askDisconnect(JSON.parse(button.dataset.client));
    });
    this.#poll(isLive);
  }

  /** Shows the clients with the readers of a new report. */
  show(report) {
    this.#report = report;
    const items = this.#clients.map((client) => clientOf(client, report.gateway.admin));
    for (const ring of report.rings) items.push(...ring.readers.map((reader) => readerOf(ring, reader)));
    morph(this.#place, statusTable(this.#place, {
      first: "Client", columns: COLUMNS, items, filter: this.#filter(), key: ({ key }) => key, state: ({ state }) => state, row: (item) => item,
    }));
    const bad = items.filter(({ state }) => state !== "good").length;
    setText(at("clients-count"), `${count(items.length)}${bad > 0 ? `, ${count(bad)} slow or gone` : ""}`);
  }

  async #poll(isLive) {
    if (isLive() && this.#report !== null && !document.hidden && this.#place.checkVisibility()) {
      try {
        this.#clients = (await ask("api/clients")).clients;
        this.show(this.#report);
      } catch {
        // The link reports a gateway that does not answer.
      }
    }
    setTimeout(() => this.#poll(isLive), this.#report === null ? EVERY_MS / 10 : EVERY_MS);
  }
}

function askDisconnect({ sink, id, peer }) {
  confirmAction({
    title: "Disconnect a client", button: "Disconnect",
    consequence: `Client ${peer} of sink “${sink}” loses its connection, and the events that wait for it. It may connect again at once.`,
    path: () => `api/disconnect?sink=${encodeURIComponent(sink)}&id=${id}`,
  });
}
