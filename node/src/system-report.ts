import type { Registration } from "./plan.js";
import type { PoolStats } from "./pool-options.js";
import type { RouteStats } from "./system-options.js";
import { PrometheusText } from "./telemetry.js";

/** @internal */
export function statsOf({ route, telemetry, entries }: Registration): RouteStats {
  const queues = entries.flatMap(({ mailbox }) => (mailbox === undefined ? [] : [mailbox.stats()]));
  return { template: route.template, sent: telemetry.sent, failed: telemetry.failures, queues };
}

/** @internal All counters and latencies of a system in the Prometheus text format. */
export function prometheusOf(pool: PoolStats, registrations: readonly Registration[]): string {
  const text = new PrometheusText();
  text.add("millpond_pool_messages", "gauge", "Messages that exist.", {}, pool.size);
  text.add("millpond_pool_in_use", "gauge", "Messages lent out.", {}, pool.inUse);
  text.add("millpond_pool_high_water", "gauge", "Most messages lent out together.", {}, pool.highWater);
  text.add("millpond_pool_acquired_total", "counter", "Messages lent.", {}, pool.acquired);
  text.add("millpond_pool_created_total", "counter", "Messages constructed.", {}, pool.created);
  text.add("millpond_pool_discarded_total", "counter", "Messages dropped at release.", {}, pool.discarded);
  for (const registration of registrations) {
    const labels = { route: registration.route.template };
    const { telemetry } = registration;
    text.add("millpond_messages_total", "counter", "Messages sent.", labels, telemetry.sent);
    text.add("millpond_failures_total", "counter", "Messages whose handler failed.", labels, telemetry.failures);
    for (const { mailbox } of registration.entries) {
      const stats = mailbox?.stats();
      if (stats === undefined) continue;
      text.add("millpond_queue_waiting", "gauge", "Messages that wait.", labels, stats.waiting);
      text.add("millpond_queue_refused_total", "counter", "Messages refused by a full queue.", labels, stats.refused);
      text.add("millpond_queue_dropped_total", "counter", "Messages that gave way to others.", labels, stats.dropped);
    }
    if (telemetry.latency !== undefined) {
      text.addHistogram("millpond_latency_seconds", "From send until settled.", labels, telemetry.latency);
    }
  }
  return text.toString();
}
