import type { ContainerClaim, Leftover, Removal } from "../../application/ports/containers.ts";
import { isOfAnother, readClaim } from "./claims.ts";
import { type InspectedContainer, inspectContainer } from "./container-state.ts";
import type { Engine, EngineRequest } from "./docker-engine.ts";
import { LABEL } from "./labels.ts";
import type { Leases } from "./leases.ts";

export interface RemoveContainerDeps {
  readonly engine: Engine;
  readonly stopGraceSeconds: number;
  readonly pause: (ms: number) => Promise<void>;
}

const REMOVAL_TRIES = 3;
const FIRST_PAUSE_MS = 200;

/** Stops a container (TERM, the grace, KILL), removes it and the volumes that are its own. What is gone is fine. */
export async function removeContainer(
  parts: RemoveContainerDeps,
  container: string,
  { force }: { readonly force: boolean },
): Promise<Removal & { readonly id?: string }> {
  const { engine, stopGraceSeconds } = parts;
  const inspected = await inspectContainer(engine, container, undefined);
  if (!inspected.ok) {
    const gone = inspected.code === "container-missing";
    return {
      removed: gone,
      leftovers: gone ? [] : [{ kind: "container", name: container, reason: inspected.detail }],
    };
  }
  const { Id: id, State } = inspected.value;
  if (State.Running && !force) {
    await engine.call({
      method: "POST",
      path: `/containers/${id}/stop`,
      query: { t: stopGraceSeconds },
      timeoutMs: (stopGraceSeconds + 15) * 1000,
    });
  }
  const leftovers: Leftover[] = [];
  const removal = await tryRemoval(parts, `/containers/${id}`, { force: true, v: true });
  if (removal !== undefined) leftovers.push({ kind: "container", name: container, reason: removal });
  else leftovers.push(...(await removeVolumes(parts, volumesOf(inspected.value))));
  return { removed: leftovers.length === 0, leftovers, id };
}

export async function removeVolumes(
  parts: RemoveContainerDeps,
  volumes: readonly string[],
): Promise<readonly Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const name of volumes) {
    const reason = await tryRemoval(parts, `/volumes/${encodeURIComponent(name)}`, { force: true });
    if (reason !== undefined) leftovers.push({ kind: "volume", name, reason });
  }
  return leftovers;
}

function volumesOf({ Config }: InspectedContainer): readonly string[] {
  return (Config.Labels?.[LABEL.volumes] ?? "").split(",").filter((name) => name !== "");
}

/** Undefined when it is gone, else why not. */
async function tryRemoval(
  { engine, pause }: RemoveContainerDeps,
  path: string,
  query: NonNullable<EngineRequest["query"]>,
): Promise<string | undefined> {
  let reason = "";
  for (let attempt = 1; attempt <= REMOVAL_TRIES; attempt++) {
    const answer = await engine.call({ method: "DELETE", path, query });
    if (answer.ok || answer.code === "container-missing") return undefined;
    if (/no such (?:container|volume)/i.test(answer.detail)) return undefined;
    // Somebody else is at it already.
    reason = answer.detail;
    if (attempt < REMOVAL_TRIES) await pause(FIRST_PAUSE_MS * 4 ** (attempt - 1));
  }
  return reason;
}

interface RemoveOwnDeps extends RemoveContainerDeps {
  readonly installation: string;
  readonly owner: () => string;
  readonly leases: Leases;
  /** Before it goes. */
  readonly onRemoving: (id: string, labels: Readonly<Record<string, string>>) => void;
  readonly warn: (message: string) => void;
}

/** Removes a container of this installation, and no other. What could not be removed is noted for the next clean-up. */
export async function removeOwnContainer(
  parts: RemoveOwnDeps,
  container: string,
  { force, claim }: { readonly force: boolean; readonly claim?: ContainerClaim | undefined },
): Promise<Removal> {
  const { engine, installation, leases, warn } = parts;
  const inspected = await inspectContainer(engine, container, undefined);
  const labels = (inspected.ok && inspected.value.Config.Labels) || {};
  if (inspected.ok && labels[LABEL.installation] !== installation)
    return {
      removed: false,
      leftovers: [{ kind: "container", name: container, reason: "belongs to somebody else" }],
    };
  const id = inspected.ok ? inspected.value.Id : container;
  if (isOfAnother(readClaim(labels, leases.read(id)), claim)) return { removed: false, leftovers: [] };
  parts.onRemoving(id, labels);
  const { removed, leftovers } = await removeContainer(parts, id, { force });
  const known = leases.read(id);
  if (removed) leases.remove(id);
  else if (inspected.ok || known) {
    leases.write({
      container: id,
      name: inspected.ok ? inspected.value.Name.slice(1) : (known?.name ?? container),
      taskId: known?.taskId ?? "",
      lease: known?.lease ?? "process",
      owner: known?.owner ?? parts.owner(),
      state: "ended",
      reason: leftovers.map((each) => `${each.kind} ${each.name}: ${each.reason}`).join("; "),
    });
    warn(`left behind, for the next clean-up: ${leftovers.map(({ name }) => name).join(", ")}`);
  }
  return { removed, leftovers };
}
