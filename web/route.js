// The address of a view: `#/VENUE/SYMBOL?search=..&list=watch`, or `#/?filter=..&rows=bad` for the overview. A venue without a name is "-".

const NO_VENUE = "-";

/** Returns the parts of a location's hash; symbol is empty for the overview. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const parameters = new URLSearchParams(query);
  const [, venue = "", symbol = ""] = path.split("/").map(decoded);
  return {
    venue: symbol === "" || venue === NO_VENUE ? "" : venue,
    symbol,
    search: parameters.get("search") ?? "",
    watched: parameters.get("list") === "watch",
    filter: parameters.get("filter") ?? "",
    bad: parameters.get("rows") === "bad",
  };
}

/** The hash of a view. */
export function formatRoute({ venue = "", symbol = "", search = "", watched = false, filter = "", bad = false }) {
  const parameters = new URLSearchParams();
  if (search !== "") parameters.set("search", search);
  if (watched) parameters.set("list", "watch");
  if (filter !== "") parameters.set("filter", filter);
  if (bad) parameters.set("rows", "bad");
  const path = symbol === "" ? "" : `${encodeURIComponent(venue === "" ? NO_VENUE : venue)}/${encodeURIComponent(symbol)}`;
  return `#/${path}${parameters.size === 0 ? "" : `?${parameters}`}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address typed by hand, such as one with a lone %
  }
}
