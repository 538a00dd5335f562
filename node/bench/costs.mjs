// Measured:     a send, a queued message or a slot with one part removed from the package's code: the cost of that part.
// Not measured: whether the remaining code is correct, which it is not: each part is needed.
import { Worker } from "node:worker_threads";
import { compare, quick } from "./harness.mjs";

const script = new URL("./support/costs-worker.mjs", import.meta.url);
/** The replacements in the bundle's text that remove a part, by its name. */
const SEND = {
  "as it is": [],
  "no parameters' place in the message": [
    ["    message._address(receiver.parameters);\n    receiver.fastSends++;", "    receiver.fastSends++;"],
  ],
  "no count": [["    receiver.fastSends++;\n    let outcome;", "    let outcome;"]],
  "no look for a promise": [[/later = outcome !== void 0 && .*;/, "later = false;"]],
  "body and meta not cleared": [
    [
      /(message\._stamp = stamp \+ 1;\n)\s+message\._body = void 0;\n\s+message\._meta = void 0;\n(\s+\} else\n\s+this\.#returnReady\(message, stamp\);\n\s+return outcome;)/,
      "$1$2",
    ],
  ],
  "no check of the read": [
    [/( {2}get body\(\) \{\n)\s+if \(\(this\._stamp & 1\) === 0\)\n\s+refuse\d*\(this\);\n/, "$1"],
  ],
  "no stamp": [
    ["if (direct === void 0 || (stamp & 1) === 0 || stamp === LAST_READY_STAMP)", "if (direct === void 0)"],
    ["    message._stamp = stamp;\n    message._path = path;", "    message._path = path;"],
    [
      /if \(message\._stamp === stamp\) \{\n\s+message\._stamp = stamp \+ 1;\n(\s+message\._body = void 0;\n\s+message\._meta = void 0;\n\s+\}) else\n\s+this\.#returnReady\(message, stamp\);\n(\s+return outcome;)/,
      "{\n$1\n$2",
    ],
    [/( {2}get body\(\) \{\n)\s+if \(\(this\._stamp & 1\) === 0\)\n\s+refuse\d*\(this\);\n/, "$1"],
  ],
};
SEND["none of these"] = [
  ...SEND["no stamp"].slice(0, 2),
  ...SEND["no check of the read"],
  ["    message._address(receiver.parameters);\n    receiver.fastSends++;\n", ""],
  ...SEND["no look for a promise"],
  [
    /if \(message\._stamp === stamp\) \{\n\s+message\._stamp = stamp \+ 1;\n\s+message\._body = void 0;\n\s+message\._meta = void 0;\n\s+\} else\n\s+this\.#returnReady\(message, stamp\);\n(\s+return outcome;)/,
    "$1",
  ],
];
const QUEUE = {
  "as it is": [],
  "deliveries not cleared": [
    ["    delivery.reset();\n    this.#deliveries.release(delivery);", "    this.#deliveries.release(delivery);"],
  ],
  "no counts": [
    ["    receiver.counts[SENT]++;\n", ""],
    ["    receiver.counts[HANDLED]++;\n", ""],
  ],
  "no owner": [
    ["    message._own(QUEUE, delivery);\n", ""],
    ["    message._own(CALLER, void 0);\n", ""],
  ],
  "one lane": [
    [
      "for (let number = 0; number < 4; number++) {\n      const lane",
      "for (let number = 2; number < 3; number++) {\n      const lane",
    ],
  ],
  "no observers looked for": [
    ["const observers = this.registry.observersOf(path, receiver);", "const observers = [];"],
  ],
  "handler not known while it runs": [
    ["    const outer = contexts.current;\n    contexts.current = delivery;\n", ""],
    ["    } finally {\n      contexts.current = outer;\n", "    } finally {\n"],
  ],
  "no signal or time limit to end": [["    delivery.finish();\n", "    delivery.state = DONE;\n"]],
};
QUEUE["none of these"] = Object.values(QUEUE).flat();
const SLOTS = {
  "as it is": [],
  "no check at the release": [
    [
      /( {2}release\(handle\) \{\n(?:\s+if \(arguments.*\n.*\n)?\s+const slot = handle & this\.mask;\n)\s+if \(this\.handles\[slot\] !== handle\) \{\n[^}]*\}\n/,
      "$1",
    ],
  ],
  "no check at the read": [
    [
      /( {2}at\(handle\) \{\n(?:\s+if \(arguments.*\n.*\n)?\s+const slot = handle & this\.mask;\n)\s+if \(this\.handles\[slot\] !== handle\) \{\n[^}]*\}\n/,
      "$1",
    ],
  ],
};
SLOTS["none of these"] = Object.values(SLOTS).flat();

/** Runs in a separate isolate, so that contenders do not share optimised code. Without `patches`, the reference. */
function contender(kind, name, patches) {
  const worker = new Worker(script, { workerData: { kind, patches }, argv: process.argv.slice(2) });
  let settle;
  worker.on("message", (finding) => settle.resolve(finding));
  worker.on("error", (error) => settle.reject(error));
  return {
    name,
    worker,
    run() {
      const found = new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
      worker.postMessage("run");
      return found;
    },
  };
}

for (const [kind, parts, beside] of [
  ["send", SEND, "Map.get + call"],
  ["queue", QUEUE, "fastq with the same pool"],
  ["slots", SLOTS, "new"],
]) {
  const contenders = [[beside, undefined], ...Object.entries(parts)].map((part) => contender(kind, ...part));
  await compare(
    {
      name: `costs-${kind}`,
      question: `What does ${{ send: "a send to a static path", queue: "a queued emit without contexts", slots: "a slot, 1,000 in flight," }[kind]} cost without one of its parts?`,
      unit: "ns/message",
      runs: quick ? 6 : 21,
      warmups: 5,
    },
    contenders,
  );
  await Promise.all(contenders.map(({ worker }) => worker.terminate()));
}
