import * as check from "../pool/checks.js";
import type { Dispatcher } from "./dispatcher.js";
import type { Receiver } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Sent } from "./system-options.js";

/**
 * A sender for one path that looks up its handler once, and again after a change of the registrations.
 *
 * Memory: the same as `MessageSystem.send`.
 */
export class Target<Body, Reply> {
  #receiver: Receiver | undefined;
  #version = -1;

  /** @internal */
  constructor(
    readonly path: string,
    private readonly dispatcher: Dispatcher,
    private readonly registry: Registry,
  ) {}

  send(body?: Body): Sent<Reply>;
  send(body?: Body, more?: unknown): Sent<Reply> {
    if (more !== undefined) check.argumentCount("send of a target", 2, 1);
    if (this.#version !== this.registry.version) this.#find();
    if (this.#receiver === undefined) throw this.dispatcher.missing(this.path, body, undefined);
    return this.dispatcher.send(this.#receiver, this.path, body) as Sent<Reply>;
  }

  #find(): void {
    this.#receiver = this.registry.handlerOf(this.path);
    this.#version = this.registry.version;
  }
}
