// What an operator may do with a session. Each action is confirmed, with what follows from it, and needs the admin token.

import { confirmAction } from "./admin-dialog.js";
import { setText } from "./morph.js";
import { at } from "./shell.js";

/** Path, button, consequence and the inputs of each action. */
const ACTIONS = [
  { path: "logon", title: "Enable", inputs: [],
    consequence: "The session is enabled: it connects, or accepts its counterparty, while its schedule is open." },
  { path: "logout", title: "Log out", inputs: ["reason"],
    consequence: "The session logs out and stays disabled, also after a restart, until somebody enables it. The counterparty can send no orders or executions meanwhile." },
  { path: "reset", title: "Reset", inputs: [],
    consequence: "Both sequence numbers become 1, and the resend store is lost: messages that the counterparty has missed can never be resent. A session that is logged on logs out first. If the counterparty does not reset too, the next Logon is refused." },
  { path: "set-seq", title: "Set numbers", inputs: ["next_sender", "next_target"],
    consequence: "Only while the session is disconnected. If the next number out is lower than the counterparty expects, it rejects the Logon; if it is higher, it requests messages that do not exist and gets gap fills. If the next number in is higher than the counterparty sends, its Logon is refused; if it is lower, it is asked to send messages again, which may repeat orders." },
  { path: "promote", title: "Promote", inputs: ["force"],
    consequence: "This engine runs the session from its copy, and the primary must not run it any more. Messages that the copy lacks are lost to the session. By force also if the copy has gaps or another machine has taken over: the counterparty may then have messages that this store does not know." },
];

/** Whether an action fits the state of a session; replica: it is a standby's copy. */
function fits(path, { session, replica }) {
  if (replica) return path === "promote";
  if (path === "promote") return session.standby?.state === "superseded";
  return path === "logon" ? !session.enabled : path !== "logout" || session.enabled;
}

/** The session and the inputs, percent-encoded. */
function queryOf(session, inputs) {
  const values = inputs.map((name) => {
    const input = at("act-form").querySelector(`label[data-input="${name}"] input`);
    return [name, input.type === "checkbox" ? (input.checked ? "1" : "") : input.value.trim()];
  });
  return [["session", session], ...values].map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}

export class Admin {
  #name = "";
  #done;

  /** done(): called when something was done. */
  constructor(done) {
    this.#done = done;
    at("session-actions").replaceChildren(...ACTIONS.map((action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.path = action.path;
      button.textContent = action.title;
      button.addEventListener("click", () => this.#ask(action));
      return button;
    }));
  }

  /** Shows the actions that fit the session; enabled: whether the engine has an admin token. */
  update(name, state, enabled) {
    this.#name = name;
    for (const button of at("session-actions").children) button.disabled = !enabled || !fits(button.dataset.path, state);
    setText(at("session-actions-note"), enabled ? "" : "To act here, set admin_token_file.");
  }

  #ask({ path, title, inputs, consequence }) {
    for (const label of at("act-form").querySelectorAll("label[data-input]")) {
      label.hidden = !inputs.includes(label.dataset.input);
      const input = label.querySelector("input");
      input.value = input.defaultValue;
      input.checked = false;
    }
    const session = this.#name;
    confirmAction({
      title: `${title}: ${session}`, consequence, button: title, done: this.#done,
      path: () => `api/session/${path}?${queryOf(session, inputs)}`,
    });
  }
}
