/** Starts of each receiver in order, then all else sorted: events of one millisecond may have any order. */
export function arranged(log: readonly string[]): string[][] {
  const starts = new Map<string, string[]>();
  const others: string[] = [];
  for (const line of log) {
    const key = /^start \d+ \d+ 1 /.test(line) ? line.split(" ")[1] : undefined;
    if (key === undefined) others.push(line);
    else starts.set(key, [...(starts.get(key) ?? []), line]);
  }
  return [others.sort(), ...[...starts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, lines]) => lines)];
}
