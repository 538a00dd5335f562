// Measured:     acquiring a message, writing its 6 fields, reading one of them, and releasing it.
// Not measured: making the pools.
import { MessagePool, SlotPool } from "millpond";
import reusify from "reusify";
import { compare, nodeMajor, quick, timeBatches } from "./harness.mjs";

class Order {
  constructor(id, path, body, price, size, side) {
    this.id = id;
    this.path = path;
    this.body = body;
    this.price = price;
    this.size = size;
    this.side = side;
  }
}
class Blank {
  constructor() {
    this.id = 0;
    this.path = "";
    this.body = undefined;
    this.price = 0;
    this.size = 0;
    this.side = 0;
    this.next = null;
  }
}
const IN_FLIGHT = 1_000;
const IN_SEQUENCE = 10_000;
const body = { resident: true };
const meta = { resident: true };
const PATHS = Array.from({ length: 64 }, (_, n) => `svc://orders/${n}`);

/** Makes a contender with separate code, so that contenders do not share optimised code. */
function contender(name, { make, count, perBatch }) {
  const { batch, read } = make();
  return {
    name,
    run() {
      const before = read();
      const { value, operations } = timeBatches(batch, perBatch, count);
      return { value, answer: read() - before, expected: operations };
    },
  };
}

const bulk = {
  new() {
    const out = new Array(IN_FLIGHT).fill(undefined);
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_FLIGHT; n++) out[n] = new Order(n, PATHS[n & 63], body, n, 3, 1);
        for (let n = 0; n < IN_FLIGHT; n++) {
          sum += out[n].side;
          out[n] = undefined;
        }
      },
    };
  },
  pool() {
    const pool = new MessagePool(2_000, { warmup: 1_000 });
    const out = new Array(IN_FLIGHT).fill(undefined);
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_FLIGHT; n++) out[n] = pool.acquire(PATHS[n & 63], body, meta);
        for (let n = 0; n < IN_FLIGHT; n++) {
          if (out[n].body === body) sum++;
          pool.release(out[n]);
        }
      },
    };
  },
  slots() {
    const pool = new SlotPool({ id: "i32", path: "i32", price: "i32", size: "i32", side: "i32", body: "i32" }, 2_000);
    const out = new Float64Array(IN_FLIGHT);
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_FLIGHT; n++) {
          const handle = pool.acquire();
          const { record } = pool;
          record.id = n;
          record.path = n & 63;
          record.body = 1;
          record.price = n;
          record.size = 3;
          record.side = 1;
          out[n] = handle;
        }
        for (let n = 0; n < IN_FLIGHT; n++) {
          const handle = out[n];
          sum += pool.at(handle).side;
          pool.release(handle);
        }
      },
    };
  },
  reusify() {
    const pool = reusify(Blank);
    const out = new Array(IN_FLIGHT).fill(undefined);
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_FLIGHT; n++) {
          const order = pool.get();
          order.id = n;
          order.path = PATHS[n & 63];
          order.body = body;
          order.price = n;
          order.size = 3;
          order.side = 1;
          out[n] = order;
        }
        for (let n = 0; n < IN_FLIGHT; n++) {
          sum += out[n].side;
          out[n].body = undefined;
          pool.release(out[n]);
        }
      },
    };
  },
};
const sequence = {
  new() {
    const out = [undefined];
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_SEQUENCE; n++) {
          out[0] = new Order(n, PATHS[n & 63], body, n, 3, 1);
          sum += out[0].side;
        }
      },
    };
  },
  pool() {
    const pool = new MessagePool(2_000, { warmup: 1_000 });
    const out = [undefined];
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_SEQUENCE; n++) {
          out[0] = pool.acquire(PATHS[n & 63], body, meta);
          if (out[0].body === body) sum++;
          pool.release(out[0]);
        }
      },
    };
  },
  slots() {
    const pool = new SlotPool({ id: "i32", path: "i32", price: "i32", size: "i32", side: "i32", body: "i32" }, 2_000);
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_SEQUENCE; n++) {
          const handle = pool.acquire();
          const { record } = pool;
          record.id = n;
          record.path = n & 63;
          record.body = 1;
          record.price = n;
          record.size = 3;
          record.side = 1;
          sum += record.side;
          pool.release(handle);
        }
      },
    };
  },
  reusify() {
    const pool = reusify(Blank);
    const out = [undefined];
    let sum = 0;
    return {
      read: () => sum,
      batch() {
        for (let n = 0; n < IN_SEQUENCE; n++) {
          const order = pool.get();
          order.id = n;
          order.path = PATHS[n & 63];
          order.body = body;
          order.price = n;
          order.size = 3;
          order.side = 1;
          out[0] = order;
          sum += out[0].side;
          order.body = undefined;
          pool.release(order);
        }
      },
    };
  },
};

const goals = [
  { contender: "MessagePool", to: "new", atMost: nodeMajor >= 24 ? 0.85 : 0.7 },
  { contender: "SlotPool", to: "new", atMost: 0.45 },
];
for (const [name, cases, perBatch, text] of [
  ["pool-bulk", bulk, IN_FLIGHT, "What does a message cost, 1,000 made and then 1,000 released?"],
  ["pool-sequence", sequence, IN_SEQUENCE, "What does a message cost, 10,000 made and released one after the other?"],
]) {
  const names = { new: "new", pool: "MessagePool", slots: "SlotPool", reusify: "reusify" };
  const contenders = Object.entries(cases).map(([key, make]) =>
    contender(names[key], { make, count: 300_000, perBatch }),
  );
  await compare(
    {
      name,
      question: text,
      unit: "ns/message",
      runs: quick ? 6 : 41,
      warmups: 6,
      measured: "acquire, six fields written (three by MessagePool), one read, release",
      notMeasured: "making the pools",
      goals,
    },
    contenders,
  );
}
