/** A handler that settles when the test says so. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Lets everything that waits for this turn of the event loop run. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
