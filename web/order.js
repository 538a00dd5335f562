// The order of a table's rows: bad ones first, but unchanged while the pointer or the focus is on the table.

const RANKS = ["error", "warning", "waiting", "info", "good"];

export class Order {
  #places = new Map(); // by table: the keys in order

  /** Returns the items in the table's order. key(item): unique; state(item): a severity, "waiting" or "good". */
  apply(table, items, key, state) {
    const before = this.#places.get(table);
    const held = before !== undefined && table.matches(":hover, :focus-within");
    const rank = (item) => (held ? before.get(key(item)) ?? before.size : RANKS.indexOf(state(item)));
    const sorted = items.map((item, index) => ({ item, index, rank: rank(item) }))
      .sort((a, b) => a.rank - b.rank || a.index - b.index).map(({ item }) => item);
    this.#places.set(table, new Map(sorted.map((item, index) => [key(item), index])));
    return sorted;
  }
}
