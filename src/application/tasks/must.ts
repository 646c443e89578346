import type { ForgeAnswer } from "../ports/forge.ts";
import { SolveStop } from "./solve-parts.ts";

/** The value, or the end of the task: what the forge refuses here the task cannot do without. */
export async function must<T>(answer: Promise<ForgeAnswer<T>>): Promise<T> {
  const got = await answer;
  if (got.ok) return got.value;
  const { code, message, scope } = got.failure;
  if (code === "aborted") throw new SolveStop("stopped");
  throw new SolveStop("forge", scope === undefined ? message : `${message} (${scope})`);
}
