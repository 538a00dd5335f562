import { requireArguments } from "./pool-error.js";

type Method = (this: unknown, ...values: unknown[]) => unknown;

/**
 * Makes methods of a class refuse more than so many arguments with SettingError: they would silently ignore them. `rejects`: they
 * give promises. For the hot path this costs too much: its methods check a parameter.
 *
 * @internal
 */
export function limitArguments(prototype: object, most: Readonly<Record<string, number>>, rejects = false): void {
  for (const [name, count] of Object.entries(most)) {
    const method = Reflect.get(prototype, name) as Method;
    const limited: Method = function (...values) {
      try {
        requireArguments(name, values.length, count);
      } catch (error) {
        if (rejects) return Promise.reject(error as Error);
        throw error;
      }
      return method.apply(this, values);
    };
    Object.defineProperty(limited, "name", { value: name });
    Object.defineProperty(prototype, name, { value: limited, writable: true, configurable: true });
  }
}
