/**
 * Loaded before the program (BUN_OPTIONS=--preload=…): throws where no caller catches it. `FAULT_AT`: after so many turns of
 * the event loop, or at the signal SIGUSR2 where it is empty. `FAULT_IN`: only in a process with this word among its arguments.
 * Writes into `FAULT_LOG` how many turns there were, and whether the fault was raised.
 */
import { appendFileSync } from "node:fs";

const { FAULT_KIND: kind, FAULT_AT: at, FAULT_IN: place = "", FAULT_LOG: log = "" } = process.env;

function raise(): void {
  appendFileSync(log, "raised\n");
  // Its text looks like what must not be shown: a bug quotes code, and its stack names files.
  const fault = new TypeError("undefined is not an object (evaluating 'e.t.injected')");
  if (kind === "throw") throw fault;
  if (kind === "reject") void Promise.reject(fault);
  if (kind === "inside") {
    // The next code that sorts, maps or filters fails, for any caller.
    for (const name of ["map", "filter", "some", "find"] as const) {
      const real = Array.prototype[name];
      Object.defineProperty(Array.prototype, name, {
        configurable: true,
        writable: true,
        value() {
          Object.defineProperty(Array.prototype, name, { configurable: true, writable: true, value: real });
          throw fault;
        },
      });
    }
  }
}

if (kind !== undefined && process.argv.join(" ").includes(place)) {
  const turns = { count: 0 };
  const turn = () => {
    // Before that the runtime loads the program, and nothing of it has run.
    if (process.listenerCount("uncaughtException") > 0) turns.count += 1;
    // Another turn is asked for first: the fault must not end the counting.
    setImmediate(turn).unref();
    if (turns.count === Number(at)) raise();
  };
  if (at === "") process.on("SIGUSR2", raise);
  else setImmediate(turn).unref();
  process.on("exit", () => appendFileSync(log, `${turns.count} turns\n`));
}
