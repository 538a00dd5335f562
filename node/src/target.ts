import { NoHandlerError } from "./bus-error.js";
import type { Dispatcher } from "./dispatcher.js";
import type { Plan } from "./plan.js";
import type { Registry } from "./registry.js";
import type { Sent } from "./system-options.js";

/**
 * A sender for one path, found once.
 *
 * Memory: as `MessageSystem.send`.
 */
export class Target<Body, Reply> {
  #plan: Plan | undefined;
  #version = -1;

  /** @internal */
  constructor(
    readonly path: string,
    private readonly dispatcher: Dispatcher,
    private readonly registry: Registry,
  ) {}

  send(body?: Body): Sent<Reply> {
    if (this.#version !== this.registry.version) this.#find();
    return this.dispatcher.send(this.#plan!, this.path, body) as Sent<Reply>;
  }

  #find(): void {
    const plan = this.registry.resolve(this.path);
    if (plan === undefined) throw new NoHandlerError(this.path);
    this.#plan = plan;
    this.#version = this.registry.version;
  }
}
