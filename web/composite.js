// Composites: which instrument a line is of, and the quotes of a composite's venues. Independent of the document.

/** The ring of the web sinks, of which one serves this page; undefined if they have several. */
export function ringOf(report) {
  const rings = new Set(report.sinks.filter(({ type }) => type === "web").map(({ ring }) => ring));
  return rings.size === 1 ? [...rings][0] : undefined;
}

/** The channel of each composite of the page's ring, by venue; without one, quotes do not name their venues. */
export function compositesOf(report) {
  const ring = report && ringOf(report);
  const composites = report?.rings?.find(({ name }) => name === ring)?.composites ?? [];
  return new Map(composites.map(({ venue, channel }) => [venue, channel]));
}

/** Whether a line with a symbol is of the instrument of this venue and channel, not of another one with that symbol. */
export const isOf = (line, venue, channel) => (line.type === "quote" ? line.venue === venue : line.channel === channel);

/** The newest quotes of one symbol, by venue. */
export class VenueQuotes {
  #quotes = new Map();

  forget() {
    this.#quotes.clear();
  }

  apply(quote) {
    this.#quotes.set(quote.venue, quote);
  }

  /** Returns {venue, bid, ask, bestBid, bestAsk, left} of each of these venues of a composite, by name; left: out, why. */
  rows(composite, venues) {
    const best = this.#quotes.get(composite);
    const out = best?.left_out ?? {};
    return [...new Set([...venues, ...Object.keys(out)])].filter((venue) => venue !== composite).sort().map((venue) => {
      const { bid = null, ask = null } = this.#quotes.get(venue) ?? {};
      return {
        venue, bid, ask, bestBid: best?.bid_venues?.includes(venue) ?? false, bestAsk: best?.ask_venues?.includes(venue) ?? false,
        left: out[venue]?.replace("_", " ") ?? "",
      };
    });
  }
}
