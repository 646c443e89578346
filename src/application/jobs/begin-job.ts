import type { BeginRequest, BeginResult } from "../ports/jobs-transaction.ts";
import { toViewFault } from "../ports/view.ts";
import type { SettingRefusal } from "./execution.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

/** Opens the view; a disk that is full or may not be written is a refusal, not a crash. */
export async function beginJob(parts: WorkspaceDeps, request: BeginRequest): Promise<BeginResult> {
  try {
    return await parts.transactions.begin(request);
  } catch (error) {
    const fault = toViewFault(error, (error as { path?: string }).path ?? parts.root);
    if (fault.code !== "no-space" && fault.code !== "read-only" && fault.code !== "permission") throw error;
    return { ok: false, refusal: { code: fault.code, message: fault.message } };
  }
}

/** Where something else had to serve than was chosen, the job says so. */
export function stagedAs(
  parts: WorkspaceDeps,
  { transaction, insteadOf }: Extract<BeginResult, { ok: true }>,
): WorkspaceDeps {
  if (insteadOf === undefined || transaction.kind === "direct") return parts;
  return { ...parts, staging: { ...parts.staging, kind: transaction.kind, reason: insteadOf.reason } };
}

/** What the configuration asks for and this machine cannot give. Fails closed: nothing runs. */
export function settingRefusal(
  { config, staging }: Pick<WorkspaceDeps, "config" | "staging">,
  { preview }: { readonly preview: boolean },
): SettingRefusal | null {
  if (config.confine === "on" && !staging.confinable)
    return { code: "confinement", message: "worker.confine is on, but commands cannot be confined here" };
  const { mode } = config.network;
  if (mode !== "on" && !staging.confinable) return { code: "network", message: mode };
  if (preview && staging.kind === "none")
    return { code: "preview", message: "worker.transaction is none: there is no preview of commands" };
  return null;
}
