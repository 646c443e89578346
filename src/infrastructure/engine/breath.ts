/** Longer work of one job yields after this time: a server answers all requests from one thread. */
const LONGEST_MS = 20;

/** Work that is over sooner takes none. */
export function createBreath() {
  let last = performance.now();
  return {
    isDue: () => performance.now() - last > LONGEST_MS,
    async take(): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      last = performance.now();
    },
  };
}
