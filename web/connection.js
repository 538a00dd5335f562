// Requests to the daemon, and the token that they need.

const TOKEN = "millpond-token";
const ANSWER_WITHIN_MS = 5_000;

/** Returns why a daemon cannot accept this text as a token, in one sentence; empty if it can. */
export function tokenFault(text) {
  if (text.length < 16 || text.length > 1_024) return "A token has 16 to 1,024 characters.";
  if (!/^[!-~]+$/.test(text)) return "A token has only ASCII letters, digits and punctuation, without spaces. Was it changed while being copied?";
  return /["\\]/.test(text) ? "A token must not contain \" or \\." : "";
}

/** The token of this tab. It is stored once the daemon has accepted it. */
export const token = {
  value: tokenFault(sessionStorage.getItem(TOKEN) ?? "") === "" ? sessionStorage.getItem(TOKEN) : "",
  get() { return this.value; },
  set(value) { this.value = value; },
  accepted() {
    if (this.value !== "") sessionStorage.setItem(TOKEN, this.value);
  },
  refused() {
    this.value = "";
    sessionStorage.removeItem(TOKEN);
  },
};

export class TokenError extends Error {}

/** Fetches JSON with the token. Throws TokenError when the daemon does not accept it, Error for any other failure. */
export async function ask(path) {
  const headers = token.get() === "" ? {} : { Authorization: `Bearer ${token.get()}` };
  const response = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  if (response.status === 401) throw new TokenError(path);
  if (!response.ok) throw Object.assign(new Error(`${path}: ${response.status}`), { status: response.status });
  return response.json();
}

/** Posts with the admin token. Throws TokenError when it is not accepted, Error with the reason when the request is refused. */
export async function post(path, adminToken) {
  const fault = tokenFault(adminToken);
  if (fault !== "") throw new Error(fault);
  const response = await fetch(path, { method: "POST", headers: { Authorization: `Bearer ${adminToken}` }, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  if (response.status === 401) throw new TokenError(path);
  if (response.ok) return;
  const text = (await response.text()).trim();
  throw new Error(text.startsWith("{") ? JSON.parse(text).error : text);
}
