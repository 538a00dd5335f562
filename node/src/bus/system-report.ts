import type { PoolStats } from "../pool/pool-options.js";
import type { Receiver } from "./receiver.js";
import type { ReceiverStats } from "./system-options.js";
import { PrometheusText } from "./telemetry.js";

type Count = Exclude<keyof ReceiverStats, "template" | "kind" | "name">;

const COUNTERS: readonly (readonly [Count, string, string])[] = [
  ["sent", "millpond_messages_total", "Messages sent."],
  ["handled", "millpond_handled_total", "Handlers that settled."],
  ["failed", "millpond_failures_total", "Handlers that threw or rejected."],
  ["refused", "millpond_queue_refused_total", "Messages refused by a full queue."],
  ["dropped", "millpond_queue_dropped_total", "Messages dropped from a full queue or replaced."],
  ["aborted", "millpond_aborted_total", "Messages aborted before their handler started."],
  ["expired", "millpond_expired_total", "Messages timed out before their handler started."],
  ["retried", "millpond_retries_total", "Runs of handlers after the first."],
];

/** @internal All counters and latencies of a system in the Prometheus text format. */
export function prometheusOf(pool: PoolStats, receivers: readonly Receiver[]): string {
  const text = new PrometheusText();
  text.add("millpond_pool_messages", "gauge", "Messages in the pool.", {}, pool.size);
  text.add("millpond_pool_in_use", "gauge", "Messages on loan.", {}, pool.inUse);
  text.add("millpond_pool_high_water", "gauge", "Largest number of messages on loan.", {}, pool.highWater);
  text.add("millpond_pool_acquired_total", "counter", "Acquired messages.", {}, pool.acquired);
  text.add("millpond_pool_created_total", "counter", "Constructed messages.", {}, pool.created);
  text.add("millpond_pool_discarded_total", "counter", "Messages dropped at release.", {}, pool.discarded);
  for (const receiver of receivers) {
    const stats = receiver.stats();
    const labels = { route: stats.template, receiver: stats.name, kind: stats.kind };
    for (const [name, family, help] of COUNTERS) text.add(family, "counter", help, labels, stats[name]);
    text.add("millpond_queue_waiting", "gauge", "Queued messages.", labels, stats.waiting);
    text.add("millpond_running", "gauge", "Running handlers.", labels, stats.running);
    if (receiver.latency !== undefined) {
      text.addHistogram("millpond_latency_seconds", "From send until settled.", labels, receiver.latency);
    }
  }
  return text.toString();
}
