const waiting: (() => void)[] = [];

/**
 * Lets everything else in the process run before the next piece of work: a server answers all requests from one thread. Of
 * several that give way, one continues in each turn of the event loop, so that their pieces do not add up.
 */
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
