const waiting: (() => void)[] = [];

/** Lets other work of the process run first: a server answers from one thread. One continues in each turn of the event loop. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

const TURN_BYTES = 128 * 1024;
/** The cost of a file beside its bytes. */
const FILE_BYTES = 4 * 1024;

/** For work over many files: yields to the rest of the process after each piece. */
export function createPause(): (bytes: number) => Promise<void> {
  let since = 0;
  return async (bytes) => {
    since += bytes + FILE_BYTES;
    if (since < TURN_BYTES) return;
    since = 0;
    await giveWay();
  };
}
