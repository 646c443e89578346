import type { ContainerNetwork, SandboxFailure } from "../ports/containers.ts";
import { containerName } from "../../domain/containers/container-info.ts";
import type { PrepareDeps } from "./prepare-request.ts";

export interface BesideRequest {
  readonly purpose: "clone" | "fetch";
  readonly image: string;
  readonly network: ContainerNetwork;
  readonly signal: AbortSignal;
}

export interface BesideContainer {
  readonly ok: true;
  readonly id: string;
  close(): Promise<void>;
}

/** A container beside the task's, for what the task must not do itself. Goes with this process if nobody closes it. */
export async function openBesideContainer(
  { sandboxes, config, newId }: Pick<PrepareDeps, "sandboxes" | "config" | "newId">,
  { purpose, image, network, signal }: BesideRequest,
): Promise<BesideContainer | SandboxFailure> {
  const taskId = `${purpose}-${newId()}`;
  const spec = { name: containerName(taskId), taskId, image, limits: config.limits, network };
  const started = await sandboxes.startContainer(spec, { signal });
  if (!started.ok) return started;
  const close = async () => void (await sandboxes.stopContainer(started.id, { force: true }));
  return { ok: true, id: started.id, close };
}
