// The tracing channels as spans of OpenTelemetry: one span for each attempt, in the sender's trace, with a link to the first attempt.
import assert from "node:assert/strict";
import { tracingChannel } from "node:diagnostics_channel";
import { test } from "node:test";
import { type Link, ROOT_CONTEXT, type Span, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type HandleTrace, MessageSystem } from "millpond";

const exporter = new InMemorySpanExporter();
const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("millpond");

function contextOf(traceparent: string | undefined) {
  const [, traceId, spanId] = (traceparent ?? "").split("-");
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
}

/** Spans by the object that all events of one attempt share; the first span of each message, for the links of the others. */
const spans = new WeakMap<object, Span>();
const firsts = new Map<string | undefined, Span>();
const channels = tracingChannel<unknown, HandleTrace>("millpond.handle");
const end = (event: object): void => {
  if (!("result" in event) && !("error" in event)) return; // an async handler has only started
  const { error } = event as HandleTrace;
  const span = spans.get(event);
  if (error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message });
  span?.end();
  spans.delete(event);
};
const subscribers = {
  start: (event: object) => {
    const { receiver, path, attempt, traceparent } = event as HandleTrace;
    const first = firsts.get(traceparent);
    const links: Link[] = attempt > 1 && first !== undefined ? [{ context: first.spanContext() }] : [];
    const attributes = { "messaging.destination.name": path, "millpond.attempt": attempt };
    const span = tracer.startSpan(receiver, { attributes, links }, contextOf(traceparent));
    if (attempt === 1) firsts.set(traceparent, span);
    spans.set(event, span);
  },
  end,
  asyncStart: () => {},
  asyncEnd: end,
  error: () => {},
};

test("each attempt is a span in the sender's trace, and a retry links to the first attempt", async () => {
  channels.subscribe(subscribers);
  const system = new MessageSystem({ statistics: "diagnostics", tracing: true });
  let runs = 0;
  const flaky = async (): Promise<number> => {
    runs++;
    if (runs < 3) throw new Error(`failure ${runs}`);
    return runs;
  };
  system.on("orders/{id}", flaky, { name: "orders", retries: 2, queue: { capacity: 10 } });
  const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  assert.equal(await system.send("orders/7", {}, { traceparent }), 3);
  await new Promise((resolve) => setImmediate(resolve));
  channels.unsubscribe(subscribers);
  const finished = exporter.getFinishedSpans();
  assert.deepEqual(
    finished.map(({ name, status, attributes, links }) => [
      name,
      status.message,
      attributes["millpond.attempt"],
      links.length,
    ]),
    [
      ["orders", "failure 1", 1, 0],
      ["orders", "failure 2", 2, 1],
      ["orders", undefined, 3, 1],
    ],
  );
  for (const span of finished) assert.equal(span.spanContext().traceId, "0123456789abcdef0123456789abcdef");
  assert.equal(finished[1]!.links[0]!.context.spanId, finished[0]!.spanContext().spanId);
});
