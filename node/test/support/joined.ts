import { MessageSystem, type MessageSystemOptions, WorkerBridge } from "millpond";

/** Two systems in one thread, and the ends of the bridge between them. */
export function joined(options: MessageSystemOptions = {}): {
  near: MessageSystem;
  far: MessageSystem;
  nearEnd: WorkerBridge<never>;
  farEnd: WorkerBridge<never>;
} {
  const near = new MessageSystem(options);
  const far = new MessageSystem(options);
  const nearEnd = new WorkerBridge(near);
  const farEnd = new WorkerBridge(far, nearEnd.port);
  nearEnd.forward("far/*");
  farEnd.forward("near/*");
  return { near, far, nearEnd: nearEnd as never, farEnd: farEnd as never };
}
export const sent = (system: MessageSystem, path: string, body?: unknown): Promise<unknown> =>
  Promise.resolve(system.send(path, body));
export const closedError = { name: "RemoteError", message: "the bridge is closed" };
