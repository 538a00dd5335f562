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

/** Lets what `act` sends start before its time limit ends, however busy the machine is: meanwhile no time passes. */
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
