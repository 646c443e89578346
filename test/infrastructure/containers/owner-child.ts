/**
 * A process of its own that starts a container and then waits to be killed:
 * `owner-child.ts HOME prepare|command|detached`. Says the container's id on a line when there is something to kill.
 */
import { openRealEngine, specOf } from "./real-engine.ts";

const [, , home = "", what = ""] = process.argv;
const engine = openRealEngine({ home });
const spec = specOf(engine.image, { lease: what === "detached" ? "detached" : "process" });
const started = await engine.sandbox.startContainer(spec, {
  onProgress: ({ step }) => {
    // Between creation and start: as half-made as it gets.
    if (what === "prepare" && step === "starting") {
      console.log(spec.name);
      process.kill(process.pid, "SIGSTOP");
    }
  },
});
if (!started.ok) throw new Error(started.detail);
console.log(started.id);
if (what === "command")
  await engine.run(started.id, "sleep 555 & sleep 555", { timeoutMs: 600_000, onOutput: () => undefined });
else await new Promise(() => setInterval(() => undefined, 60_000));
