/** A handler that settles when the test opens its gate. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Waits for a turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Stops the clock until the messages that `act` sends have started, so that their time limits cannot end on a busy machine. */
export async function startInTime(act: () => void): Promise<void> {
  const real = performance.now.bind(performance);
  const now = real();
  performance.now = () => now;
  try {
    act();
    await turn();
  } finally {
    performance.now = real;
  }
}
