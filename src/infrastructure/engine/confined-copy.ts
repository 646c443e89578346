import type { ProcessRunner } from "../../application/ports/process.ts";
import type { RefusedHost } from "../../application/ports/jobs-transaction.ts";
import type { View } from "../../application/ports/view.ts";
import type { Installation } from "../platform/runtime-installation.ts";
import { type LimitedNetwork, limitedNetwork } from "./limited-network.ts";
import { createRemoteView } from "./remote-view.ts";
import { type SandboxPlan, sandboxEnvironment } from "./sandbox-plan.ts";
import { startExecutor } from "./start-executor.ts";

export interface ConfinedCopyDeps {
  readonly workspace: string;
  readonly job: string;
  readonly copies: readonly { readonly original: string; readonly copy: string }[];
  readonly installation: Installation;
  readonly env: Readonly<Record<string, string>>;
  readonly takeRefused?: () => readonly RefusedHost[];
  readonly hiddenHome: (words: string) => readonly string[];
  readonly sandbox: Omit<SandboxPlan, "roots" | "job" | "directory">;
}

/** A copy that stands, for the commands of its job, at the workspace's own path. */
export interface ConfinedCopy {
  readonly view: View;
  readonly processes: ProcessRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly limited: LimitedNetwork;
  /** Whether it is kept from the rest of the machine. */
  readonly confined: boolean;
  /** Paths of the home that these words name and that are hidden here. */
  readonly hiddenHome: (words: string) => readonly string[];
  /** Why its executor ended before the job did. */
  readonly whyEnded: () => Error | null;
  readonly stop: () => Promise<void>;
}

export type ConfineCopy = (
  job: string,
  copies: ConfinedCopyDeps["copies"],
  options: { readonly network: boolean; readonly throwAway?: boolean },
) => Promise<ConfinedCopy | { readonly complaint: string } | null>;

/** Shows each copy in the place of its original inside a sandbox; the rest of the machine is as for an overlay. */
export async function confineCopy({
  workspace,
  job,
  copies,
  installation,
  env,
  sandbox,
  takeRefused,
  hiddenHome,
}: ConfinedCopyDeps): Promise<ConfinedCopy | { readonly complaint: string }> {
  const roots = copies.map(({ original, copy }) => ({
    path: original,
    source: { kind: "bind" as const, folder: copy },
  }));
  const started = await startExecutor({ ...sandbox, job, directory: workspace, roots }, installation, env);
  if (!started.ok) return { complaint: started.complaint };
  const { call, ...rest } = started.executor;
  return {
    ...rest,
    view: createRemoteView(call),
    environment: sandboxEnvironment(sandbox),
    confined: sandbox.confined,
    hiddenHome,
    limited: limitedNetwork(sandbox.network, takeRefused),
  };
}
