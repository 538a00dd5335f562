// Measured:     from the call until the handler has run or, if it is awaited, its promise has settled.
// Not measured: registering handlers.
import { EventEmitter } from "node:events";
import Emittery from "emittery";
import { EventEmitter as EventEmitter3 } from "eventemitter3";
import findMyWay from "find-my-way";
import { MessageSystem } from "millpond";
import mitt from "mitt";
import { ServiceBroker } from "moleculer";
import { createNanoEvents } from "nanoevents";
import { compare, nowNanos, quick, timeBatches } from "./harness.mjs";

const BATCH = 1_024;
const body = { n: 1 };
const PATHS = Array.from({ length: 64 }, (_, n) => `svc://orders/route${n}`);

/** make(hit): returns the function that sends a batch; its handlers must call `hit` with the body. */
function contender(name, count, make) {
  let hits = 0;
  let wrong = 0;
  const batch = make((given) => {
    hits++;
    if (given !== body) wrong++;
  });
  return {
    name,
    run() {
      hits = 0;
      const { value, operations } = timeBatches(batch, BATCH, count);
      return { value, answer: hits - wrong, expected: operations };
    },
  };
}

/** Eight functions, like the handlers of a program: a single one would be inlined into the loop. */
const handlersOf = (hit) => [
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
  (given) => hit(given),
];
const messageHandlersOf = (hit) => [
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
  (message) => hit(message.body),
];
function systemOf(options, hit) {
  const system = new MessageSystem(options);
  const handlers = messageHandlersOf(hit);
  for (const [n, path] of PATHS.entries()) system.on(path, handlers[n & 7]);
  return system;
}

function emitterContender(name, count, emitter) {
  return contender(name, count, (hit) => {
    const handlers = handlersOf(hit);
    for (const [n, path] of PATHS.entries()) emitter.on(path, handlers[n & 7]);
    return () => {
      for (let n = 0; n < BATCH; n++) emitter.emit(PATHS[n & 63], body);
    };
  });
}

// Many short rounds, so that other load on the machine affects all contenders alike.
const STATIC = 300_000;
await compare(
  {
    name: "dispatch-static",
    question: "What does a send to one of 64 static paths with a synchronous handler cost?",
    unit: "ns/message",
    runs: quick ? 6 : 41,
    warmups: 6,
    goals: [
      { contender: "send", to: "limit: Map.get + call", atMost: 1.5 },
      { contender: "target.send", to: "limit: Map.get + call", atMost: 1.0 },
    ],
  },
  [
    contender("limit: Map.get + call", STATIC, (hit) => {
      const kinds = handlersOf(hit);
      const handlers = new Map(PATHS.map((path, n) => [path, kinds[n & 7]]));
      return () => {
        for (let n = 0; n < BATCH; n++) handlers.get(PATHS[n & 63])(body);
      };
    }),
    contender("send", STATIC, (hit) => {
      const system = systemOf({ pool: 2_000 }, hit);
      return () => {
        for (let n = 0; n < BATCH; n++) system.send(PATHS[n & 63], body);
      };
    }),
    contender("send, plain messages", STATIC, (hit) => {
      const system = systemOf({ pool: 0 }, hit);
      return () => {
        for (let n = 0; n < BATCH; n++) system.send(PATHS[n & 63], body);
      };
    }),
    contender("target.send", STATIC, (hit) => {
      const system = systemOf({ pool: 2_000 }, hit);
      const targets = PATHS.map((path) => system.target(path));
      return () => {
        for (let n = 0; n < BATCH; n++) targets[n & 63].send(body);
      };
    }),
    emitterContender("EventEmitter", STATIC, new EventEmitter()),
    emitterContender("eventemitter3", STATIC, new EventEmitter3()),
    emitterContender("mitt", STATIC, mitt()),
    emitterContender("nanoevents", STATIC, createNanoEvents()),
  ],
);

// 65,536 paths with two parameters over 100 routes, in random order.
const MANY = Array.from({ length: 65_536 }, (_, n) => `/s${n % 100}/orders/${(n * 7_919) % 65_536}/items/${n}`);
const ORDER = new Uint16Array(1 << 18);
for (let n = 0, state = 12_345; n < ORDER.length; n++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
  ORDER[n] = state >> 8;
}
const PARAMS = 200_000;
function paramsContender(name, make) {
  let at = 0;
  return contender(name, PARAMS, (hit) => {
    const send = make(hit);
    return () => {
      for (let n = 0; n < BATCH; n++) {
        send(MANY[ORDER[at]]);
        at = (at + 1) & (ORDER.length - 1);
      }
    };
  });
}
/** Every receiver reads both parameters. */
const sendOf = (routes, observed) => (hit) => {
  const system = new MessageSystem({ pool: 2_000, asyncContext: false });
  for (let n = 0; n < routes; n++) {
    system.on(`/s${n}/orders/{order}/items/{item}`, (message) => {
      if (message.param("order") !== "" && message.param("item") !== "") hit(message.body);
    });
  }
  if (observed) system.subscribe("/*", () => {}, { queue: { capacity: 2 * BATCH } });
  return (path) => system.send(path, body);
};
const findMyWayOf = (hit) => {
  const router = findMyWay();
  for (let n = 0; n < 100; n++) {
    router.on(
      "GET",
      `/s${n}/orders/:order/items/:item`,
      (_1, _2, params, store) => {
        if (params.order !== "" && params.item !== "") hit(store.body);
      },
      { body },
    );
  }
  return (path) => {
    const found = router.find("GET", path);
    found.handler(null, null, found.params, found.store);
  };
};
await compare(
  {
    name: "dispatch-params",
    question:
      "What does a send to one of 65,536 paths cost whose two parameters are read, with 100 and with 10,000 routes?",
    unit: "ns/message",
    goals: [
      { contender: "send, 100 routes", to: "find-my-way, 100 routes", atMost: 0.9 },
      { contender: "send, 10,000 routes", to: "send, 100 routes", atMost: 1.05 },
    ],
  },
  [
    paramsContender("limit: one Map.get + call", (hit) => {
      const handlers = new Map(MANY.map((path) => [path, (given) => hit(given)]));
      return (path) => handlers.get(path)(body);
    }),
    paramsContender("send, 100 routes", sendOf(100, false)),
    paramsContender("send, 10,000 routes", sendOf(10_000, false)),
    paramsContender("send, 100 routes, one observer", sendOf(100, true)),
    paramsContender("find-my-way, 100 routes", findMyWayOf),
  ],
);

let fresh = 0;
const freshContender = (name, make) =>
  contender(name, PARAMS, (hit) => {
    const send = make(hit);
    return () => {
      for (let n = 0; n < BATCH; n++) send(`/s${n % 100}/orders/${fresh++}/items/${n}`);
    };
  });
await compare(
  {
    name: "dispatch-fresh-paths",
    question: "What does a send to a path cost that never comes again, whose two parameters are read?",
    unit: "ns/message",
    goals: [{ contender: "send, 100 routes", to: "find-my-way, 100 routes", atMost: 1.1 }],
  },
  [freshContender("find-my-way, 100 routes", findMyWayOf), freshContender("send, 100 routes", sendOf(100, false))],
);

const AWAITED = quick ? 10_000 : 40_000;
function awaited(name, make) {
  let hits = 0;
  let wrong = 0;
  const call = make((given) => {
    hits++;
    if (given !== body) wrong++;
    return given;
  });
  return {
    name,
    async run() {
      hits = 0;
      const start = nowNanos();
      for (let n = 0; n < AWAITED; n++) if ((await call()) !== body) wrong++;
      return { value: (nowNanos() - start) / AWAITED, answer: hits - wrong, expected: AWAITED };
    },
  };
}
const broker = new ServiceBroker({ logger: false, metrics: false });
let brokerHit = () => {};
broker.createService({
  name: "bench",
  actions: { sync: (context) => brokerHit(context.params), async: async (context) => brokerHit(context.params) },
});
await broker.start();
for (const kind of ["sync", "async"]) {
  await compare(
    {
      name: `dispatch-awaited-${kind}`,
      question: `What does an awaited call of one ${kind === "sync" ? "synchronous" : "async"} handler cost?`,
      unit: "ns/call",
      runs: quick ? 6 : 15,
      goals: [{ contender: "await send", to: "limit: await call", atMost: kind === "sync" ? 1.1 : 2.0 }],
    },
    [
      awaited("limit: await call", (hit) => {
        const handler = kind === "sync" ? (given) => hit(given) : async (given) => hit(given);
        return () => handler(body);
      }),
      // The least work for a look-up by path and a notification of the handler's end.
      awaited(kind === "sync" ? "await Map.get + call" : "await call.then", (hit) => {
        const handler = kind === "sync" ? (given) => hit(given) : async (given) => hit(given);
        const handlers = new Map([["svc://one", handler]]);
        const succeed = (reply) => reply;
        const fail = (error) => {
          throw error;
        };
        if (kind === "sync") return () => handlers.get("svc://one")(body);
        return () => handler(body).then(succeed, fail);
      }),
      ...["await send", "await target.send", "await request"].map((name) =>
        awaited(name, (hit) => {
          const system = new MessageSystem({ pool: 2_000 });
          system.on(
            "svc://one",
            kind === "sync" ? (message) => hit(message.body) : async (message) => hit(message.body),
          );
          const target = system.target("svc://one");
          if (name === "await request") return () => system.request("svc://one", body);
          return name === "await send" ? () => system.send("svc://one", body) : () => target.send(body);
        }),
      ),
      awaited("emittery", (hit) => {
        const emitter = new Emittery();
        emitter.on(
          "one",
          kind === "sync" ? ({ data }) => void hit(data ?? body) : async ({ data }) => void hit(data ?? body),
        );
        return () => emitter.emit("one", body).then(() => body);
      }),
      awaited("moleculer", (hit) => {
        const check = hit;
        return () => {
          brokerHit = check;
          return broker.call(`bench.${kind}`, body);
        };
      }),
    ],
  );
}
await broker.stop();
