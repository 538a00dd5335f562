// The WebSocket that lines come through, and the pages that are asked for again and again.

const TOKEN = "millpond-token";
const LONGEST_PAUSE_MS = 5_000;

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN, value),
};

/** Asks for a page with the token; throws when the answer is not the page. */
export async function ask(path) {
  const headers = token.get() === "" ? {} : { Authorization: `Bearer ${token.get()}` };
  const response = await fetch(path, { headers, cache: "no-store" });
  if (response.status === 401) throw new Error("token");
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** Keeps a WebSocket open. handlers: lines(array of parsed lines), state("open" | "closed"). */
export function keepOpen(path, requests, handlers) {
  let pause = 250;
  const open = () => {
    const url = new URL(path, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const protocols = token.get() === "" ? [] : ["millpond", `millpond.${token.get()}`];
    const socket = new WebSocket(url, protocols);
    socket.onopen = () => {
      pause = 250;
      handlers.state("open");
      for (const request of requests) socket.send(JSON.stringify(request));
    };
    socket.onmessage = ({ data }) => handlers.lines(data.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
    socket.onclose = () => {
      handlers.state("closed");
      setTimeout(open, pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    };
  };
  open();
}
