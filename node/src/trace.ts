import { randomFillSync } from "node:crypto";

const SHAPE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const random = new Uint8Array(4_096);
let used = random.length;

function hex(bytes: number): string {
  if (used + bytes > random.length) {
    randomFillSync(random);
    used = 0;
  }
  let text = "";
  let any = 0;
  for (const end = used + bytes; used < end; used++) {
    text += HEX[random[used]!]!;
    any |= random[used]!;
  }
  return any === 0 ? hex(bytes) : text;
}

/**
 * A `traceparent` for a message: the same trace as `parent` with a span of its own, or a new sampled trace where there is
 * no valid parent.
 *
 * Source: W3C Trace Context, section 3.2.
 */
export function childTraceparent(parent?: string): string {
  if (parent === undefined || !SHAPE.test(parent)) return `00-${hex(16)}-${hex(8)}-01`;
  return `${parent.slice(0, 36)}${hex(8)}${parent.slice(52)}`;
}
