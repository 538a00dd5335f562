// The dialog before an operator's action: it names the consequence and asks for the admin token, which is not kept.

import { post, TokenError } from "./connection.js";
import { setText } from "./morph.js";
import { at } from "./shell.js";

function faultOf(error) {
  if (error instanceof TokenError) return "The admin token was not accepted.";
  return error instanceof TypeError || error.name === "TimeoutError" ? "No answer: see in the state whether it was done." : error.message;
}

/** Shows the dialog. button: its text. path(): of the request. done(): called when it has succeeded. */
export function confirmAction({ title, consequence, button, path, done = () => {} }) {
  setText(at("act-title"), title);
  setText(at("act-consequence"), consequence);
  setText(at("act-confirm"), button);
  setText(at("act-fault"), "");
  at("act-token").value = "";
  at("act-cancel").onclick = () => at("act").close();
  at("act-form").onsubmit = async (event) => {
    event.preventDefault();
    setText(at("act-fault"), "");
    at("act-confirm").disabled = true;
    try {
      await post(path(), at("act-token").value.trim());
      at("act-token").value = "";
      at("act").close();
      done();
    } catch (error) {
      setText(at("act-fault"), faultOf(error));
    } finally {
      at("act-confirm").disabled = false;
    }
  };
  at("act").showModal();
}
