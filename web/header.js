// The header: which gateway this is, how it is, and the same in the tab's title and icon.

import { summary } from "./findings.js";
import { span } from "./format.js";
import { feedState } from "./health.js";
import { setText } from "./morph.js";
import { at } from "./shell.js";

const MARKS = { error: "✖", warning: "▲", waiting: "○", info: "●", good: "●" };
const ICONS = { error: "icon-error.svg", warning: "icon-warning.svg", waiting: "icon-waiting.svg" };

/** The state of the whole gateway: its worst finding, or how much it has received. */
export function gatewayState(report) {
  const states = report.feeds.map((feed) => feedState(report, feed));
  const waiting = report.feeds.filter((_, index) => states[index].state === "waiting");
  // A feed that waits for its first datagram is a state of its own until it is a fault.
  const findings = report.findings.filter(({ stage, severity, of }) => !(stage === "no datagrams" && severity === "warning" && waiting.some(({ name }) => of === `feed '${name}'`)));
  const worst = summary(findings);
  if (worst.state === "error" || worst.state === "warning") return worst;
  if (waiting.length > 0) {
    const of = waiting.length === report.feeds.length ? "" : ` of ${waiting.map(({ name }) => name).join(", ")}`;
    return { state: "waiting", text: `Waiting for the first datagram${of}` };
  }
  if (report.feeds.some(({ quotes }) => quotes === 0)) return { state: "info", text: "Connected, no quotes yet" };
  return worst;
}

/** Shows the state in the title and the icon of the tab. */
export function showTab({ state, text }, report) {
  const title = `${MARKS[state]} ${text} – ${report === null ? location.host : `${report.gateway.name} on ${report.gateway.host}`}`;
  if (document.title !== title) document.title = title;
  const icon = ICONS[state] ?? "icon.svg";
  if (at("icon").getAttribute("href") !== icon) at("icon").setAttribute("href", icon);
}

/** Shows which gateway it is, its version and configuration, and since when it runs. */
export function showGateway({ gateway, now, started }) {
  const { name, host, version, config } = gateway;
  setText(at("gateway-name"), `${name} on ${host}`);
  setText(at("gateway-version"), version);
  setText(at("gateway-uptime"), `up ${span(now - started)}`);
  at("gateway-uptime").title = `since ${new Date(started / 1e6).toLocaleString()}`;
  at("gateway-changed").hidden = config === null || !config.changed;
  setText(at("gateway-config"), config === null ? "no configuration file" : config.file);
  at("gateway-config").title = config === null ? "Flags configured it" : config.file;
}
