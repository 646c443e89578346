import type { Forge } from "../ports/forges.ts";
import { orStop, SolveStop } from "./solve-stop.ts";

export interface ClonedBranch {
  readonly repository: string;
  readonly branch: string;
  readonly signal: AbortSignal;
}

export interface BaseCheck {
  /** Ends the task when the forge never named that commit as the branch's. */
  verify(commit: string): Promise<void>;
}

/**
 * What a container says it cloned is held against what the forge says of the branch, before the clone and, where it
 * moved meanwhile, after it: a forge hands out commits of forks as well, and the project's own code has run by then.
 */
export async function expectBase(forge: Forge, cloned: ClonedBranch): Promise<BaseCheck> {
  const { repository, branch, signal } = cloned;
  const tip = async () => (await orStop(forge.readBranch(repository, branch, signal)))?.commit ?? null;
  const before = await tip();
  return {
    async verify(commit) {
      if (commit !== before && commit !== (await tip()))
        throw new SolveStop("wrong-base", `${branch}: ${commit.slice(0, 40)}`);
    },
  };
}
