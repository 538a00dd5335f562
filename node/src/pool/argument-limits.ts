import * as check from "./checks.js";

type Method = (this: unknown, ...values: unknown[]) => unknown;

/**
 * Makes methods throw SettingError for more arguments than `max` has for them, instead of ignoring them; with `rejects` they return
 * a rejected promise. Methods of the hot path check their arguments themselves, which costs less.
 *
 * @internal
 */
export function limitArguments(prototype: object, max: Readonly<Record<string, number>>, rejects = false): void {
  for (const [name, count] of Object.entries(max)) {
    const method = Reflect.get(prototype, name) as Method;
    const limited: Method = function (...values) {
      try {
        check.argumentCount(name, values.length, count);
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
