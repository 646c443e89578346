import { chmodSync, closeSync, constants, fstatSync, openSync } from "node:fs";
import type { Anchors } from "./anchor.ts";
import { identityOf } from "./entry-identity.ts";
import type { Plan } from "./job-folder.ts";
import { SwapFailure } from "./swap-failure.ts";
import { isSameEntry, rootOf, type SwapStep } from "./turns.ts";

/** Names a file without opening it, so that its own mode does not matter; elsewhere it must be readable. */
const O_PATH = process.platform === "linux" ? 0o10000000 : 0;
const FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK | O_PATH;

/** Changes the mode of the very file that was checked; done twice it is the same. */
export function giveMode(plan: Plan, { op, goes, comes }: SwapStep, anchors: Anchors): void {
  const root = rootOf(plan, op);
  if (comes === null) return;
  anchors.inParent(root, op.path, (parent, name) => {
    const descriptor = openSync(`${parent}/${name}`, FILE);
    try {
      const here = identityOf(fstatSync(descriptor, { bigint: true }));
      if (!isSameEntry(here, goes)) throw new SwapFailure(`${root}/${op.path}`);
      if (here.mode !== comes.mode) chmodSync(`/proc/self/fd/${descriptor}`, comes.mode);
    } finally {
      closeSync(descriptor);
    }
  });
}
