import type { TaskEnvironment } from "../ports/task-environments.ts";
import { switchScript } from "./change-script.ts";

const BACK_MS = 120_000;

/** Does something while the files of an environment are those of a tree, and brings back what lay there. */
export async function withSwitchedTree<T>(
  place: { readonly run: TaskEnvironment["run"]; readonly index: string; readonly tree: string },
  act: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const switched = await place.run(switchScript(place.index, place.tree), signal);
  const was = switched.stdout.trim();
  if (switched.exitCode !== 0 || !/^[0-9a-f]{40,64}$/.test(was))
    throw new Error(`the files cannot be switched: ${switched.stderr.trim()}`);
  const [done] = await Promise.allSettled([act()]);
  // Also when it was stopped meanwhile: whoever keeps the change must find it.
  const back = await place.run(switchScript(place.index, was), AbortSignal.timeout(BACK_MS));
  if (back.exitCode !== 0) throw new Error(`the change cannot be put back: ${back.stderr.trim()}`);
  if (done.status === "rejected") throw done.reason;
  return done.value;
}
