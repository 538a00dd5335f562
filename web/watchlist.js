// The watch list: symbols that the user has marked, kept in this browser for every gateway.

const KEY = "millpond-watch-list";

function stored() {
  try {
    const list = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  } catch {
    return []; // changed by hand
  }
}

export class WatchList {
  #symbols = new Set(stored());

  get size() {
    return this.#symbols.size;
  }

  has(symbol) {
    return this.#symbols.has(symbol);
  }

  /** Adds the symbol, or removes it if it is on the list. */
  toggle(symbol) {
    if (!this.#symbols.delete(symbol)) this.#symbols.add(symbol);
    try {
      localStorage.setItem(KEY, JSON.stringify([...this.#symbols]));
    } catch {
      // Full or forbidden: the list lasts as long as the page.
    }
  }

  /** Reads the list again, after another tab has changed it. Calls changed() then. */
  follow(changed) {
    addEventListener("storage", ({ key }) => {
      if (key !== KEY) return;
      this.#symbols = new Set(stored());
      changed();
    });
  }
}
