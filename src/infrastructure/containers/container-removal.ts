import type {
  ContainerClaim,
  Leftover,
  Removal,
  SandboxFailure,
  StaleCleanup,
  StaleRule,
} from "../../application/ports/containers.ts";
import { LABEL } from "./container-body.ts";
import { isOfAnother, type Lease, type Leases, type Owners, readClaim } from "./container-owners.ts";
import {
  containerTask,
  inspectContainer,
  inspectImage,
  type ListedContainer,
  listedContainerName,
  listOwnContainers,
} from "./container-state.ts";
import type { Engine, EngineRequest } from "./docker-engine.ts";

export interface RemoveContainerDeps {
  readonly engine: Engine;
  readonly stopGraceSeconds: number;
  readonly pause: (ms: number) => Promise<void>;
}

const REMOVAL_TRIES = 3;
const FIRST_PAUSE_MS = 200;

/** Stops a container (TERM, the grace, KILL), removes it and its private volumes. A missing one is not an error. */
export async function removeContainer(
  deps: RemoveContainerDeps,
  container: string,
  { force }: { readonly force: boolean },
): Promise<Removal & { readonly id?: string }> {
  const { engine, stopGraceSeconds } = deps;
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
    await engine.call("POST", `/containers/${id}/stop`, {
      query: { t: stopGraceSeconds },
      timeoutMs: (stopGraceSeconds + 15) * 1000,
    });
  }
  const leftovers: Leftover[] = [];
  const removal = await tryRemoval(deps, `/containers/${id}`, { force: true, v: true });
  if (removal !== undefined) leftovers.push({ kind: "container", name: container, reason: removal });
  else {
    const volumes = inspected.value.Config.Labels?.[LABEL.volumes] ?? "";
    leftovers.push(...(await removeVolumes(deps, volumes.split(",").filter(Boolean))));
  }
  return { removed: leftovers.length === 0, leftovers, id };
}

export async function removeVolumes(
  deps: RemoveContainerDeps,
  volumes: readonly string[],
): Promise<readonly Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const name of volumes) {
    const reason = await tryRemoval(deps, `/volumes/${encodeURIComponent(name)}`, { force: true });
    if (reason !== undefined) leftovers.push({ kind: "volume", name, reason });
  }
  return leftovers;
}

/** Undefined when it is gone, else why not. */
async function tryRemoval(
  { engine, pause }: RemoveContainerDeps,
  path: string,
  query: NonNullable<EngineRequest["query"]>,
): Promise<string | undefined> {
  let reason = "";
  for (let attempt = 1; attempt <= REMOVAL_TRIES; attempt++) {
    const answer = await engine.call("DELETE", path, { query });
    if (answer.ok || answer.code === "container-missing") return undefined;
    if (/no such (?:container|volume)/i.test(answer.detail)) return undefined;
    // Another process is already removing it.
    reason = answer.detail;
    if (attempt < REMOVAL_TRIES) await pause(FIRST_PAUSE_MS * 4 ** (attempt - 1));
  }
  return reason;
}

interface RemoveOwnDeps extends RemoveContainerDeps {
  readonly installation: string;
  readonly owner: () => string;
  readonly leases: Leases;
  readonly onRemoving: (id: string, labels: Readonly<Record<string, string>>) => void;
  readonly warn: (message: string) => void;
}

/** Removes a container of this installation, and no other. A failed removal is noted for the next clean-up. */
export async function removeOwnContainer(
  deps: RemoveOwnDeps,
  container: string,
  { force, claim }: { readonly force: boolean; readonly claim?: ContainerClaim | undefined },
): Promise<Removal> {
  const { engine, installation, leases, warn } = deps;
  const inspected = await inspectContainer(engine, container, undefined);
  const labels = (inspected.ok && inspected.value.Config.Labels) || {};
  if (inspected.ok && labels[LABEL.installation] !== installation)
    return {
      removed: false,
      leftovers: [{ kind: "container", name: container, reason: "belongs to another process" }],
    };
  const id = inspected.ok ? inspected.value.Id : container;
  if (isOfAnother(readClaim(labels, leases.read(id)), claim)) return { removed: false, leftovers: [] };
  deps.onRemoving(id, labels);
  const { removed, leftovers } = await removeContainer(deps, id, { force });
  const known = leases.read(id);
  if (removed) leases.remove(id);
  else if (inspected.ok || known) {
    leases.write({
      container: id,
      name: inspected.ok ? inspected.value.Name.slice(1) : (known?.name ?? container),
      taskId: known?.taskId ?? "",
      lease: known?.lease ?? "process",
      owner: known?.owner ?? deps.owner(),
      state: "ended",
      reason: leftovers.map((each) => `${each.kind} ${each.name}: ${each.reason}`).join("; "),
    });
    warn(`left behind, for the next clean-up: ${leftovers.map(({ name }) => name).join(", ")}`);
  }
  return { removed, leftovers };
}

interface ListedImage {
  readonly RepoTags: readonly string[] | null;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Images made over other images: the name ends with the beginnings of their ids, joined by a dash. */
const MADE_OVER: Readonly<Record<string, readonly string[]>> = {
  "picoclaw-worker": ["picoclaw.worker", "picoclaw.derived-from"],
  "picoclaw-derived": ["picoclaw.derived-from"],
};

/** Removes images whose base was built or pulled again since, or is gone. Those that a container uses stay. */
async function pruneImages(engine: Engine, signal: AbortSignal | undefined): Promise<readonly string[]> {
  const filters = JSON.stringify({ reference: Object.keys(MADE_OVER) });
  const listed = await engine.call<readonly ListedImage[]>("GET", "/images/json", {
    query: { filters },
    signal,
  });
  if (!listed.ok) return [];
  const removed: string[] = [];
  for (const { RepoTags, Labels } of listed.value)
    for (const name of RepoTags ?? []) {
      if (!(await isOutdated(engine, name, Labels ?? {}, signal))) continue;
      const answer = await engine.call("DELETE", `/images/${encodeURIComponent(name)}`, { signal });
      if (answer.ok) removed.push(name);
    }
  return removed;
}

async function isOutdated(
  engine: Engine,
  name: string,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const [kind = "", ids = ""] = name.split(":");
  const below = (MADE_OVER[kind] ?? []).map((label) => labels[label]);
  const known = ids.split("-");
  if (below.length === 0 || below.length !== known.length) return false;
  for (const [at, image] of below.entries()) {
    if (image === undefined) return false;
    const facts = await inspectImage(engine, image, signal);
    if (!facts.ok && facts.code !== "image-missing") return false;
    if (!facts.ok || !facts.value.Id.replace(/^sha256:/, "").startsWith(known[at] ?? "")) return true;
  }
  return false;
}

export interface StaleCleanupDeps {
  readonly engine: Engine;
  readonly installation: string;
  readonly owners: Owners;
  readonly leases: Leases;
  readonly now: () => number;
  readonly remove: (container: string, how: { readonly force: boolean }) => Promise<Removal>;
  readonly removing: RemoveContainerDeps;
}

/** A proxy that nothing needs may be about to be used by another process; not for longer than this. */
const IDLE_PROXY_MS = 10 * 60_000;

/** Containers first, then proxies that no container needs, volumes that no container uses, and images that are outdated. */
export async function cleanUpStale(
  deps: StaleCleanupDeps,
  rule: StaleRule,
): Promise<StaleCleanup | SandboxFailure> {
  const { engine, installation, owners, leases, now } = deps;
  const listed = await listOwnContainers(engine, installation, rule.signal);
  if (!Array.isArray(listed)) return listed as SandboxFailure;
  const containers: string[] = [];
  const leftovers: Leftover[] = [];
  const removeListed = async (container: ListedContainer) => {
    const removal = await deps.remove(container.Id, { force: true });
    leftovers.push(...removal.leftovers);
    if (removal.removed) containers.push(listedContainerName(container));
  };
  const tasks = listed.filter(({ Labels }) => Labels[LABEL.role] !== "proxy");
  const stale = tasks.filter((container) =>
    isStale(container, rule, {
      lease: leases.read(container.Id),
      isAlive: owners.isAlive,
      nowMs: now(),
    }),
  );
  for (const container of stale) {
    if (rule.signal?.aborted) break;
    await removeListed(container);
  }
  const staying = listed.filter((container) => !stale.includes(container));
  for (const proxy of idleProxies(deps, staying))
    if (!owners.isAlive(proxy.Labels[LABEL.owner] ?? "")) await removeListed(proxy);
  const volumes = await danglingVolumes(deps, rule.signal);
  const kept = await removeVolumes(deps.removing, volumes);
  owners.sweep();
  const images = rule.images === true ? await pruneImages(engine, rule.signal) : [];
  const keptNames = new Set(kept.map(({ name }) => name));
  return {
    ok: true,
    containers,
    volumes: volumes.filter((name) => !keptNames.has(name)),
    images,
    leftovers: [...leftovers, ...kept],
  };
}

/** At the end of a process: stops what no container needs any more. */
export async function removeIdleProxies(deps: StaleCleanupDeps): Promise<void> {
  const listed = await listOwnContainers(deps.engine, deps.installation, undefined);
  if (!Array.isArray(listed)) return;
  for (const proxy of idleProxies(deps, listed)) await deps.remove(proxy.Id, { force: true });
}

function idleProxies(
  { owners, now }: StaleCleanupDeps,
  listed: readonly ListedContainer[],
): readonly ListedContainer[] {
  const isProxy = ({ Labels }: ListedContainer) => Labels[LABEL.role] === "proxy";
  const needed = new Set(listed.filter((each) => !isProxy(each)).map(({ Labels }) => Labels[LABEL.proxy]));
  const shared = owners.hasOthers();
  return listed.filter(
    (each) =>
      isProxy(each) &&
      !needed.has(listedContainerName(each)) &&
      !(shared && now() - each.Created * 1000 < IDLE_PROXY_MS),
  );
}

/** Volumes of this installation in no container, whose maker is gone: a live one may be about to use them. */
async function danglingVolumes(
  { engine, installation, owners }: StaleCleanupDeps,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const filters = JSON.stringify({
    dangling: ["true"],
    label: [`${LABEL.installation}=${installation}`],
  });
  const answer = await engine.call<{
    readonly Volumes:
      | readonly { readonly Name: string; readonly Labels: Record<string, string> | null }[]
      | null;
  }>("GET", "/volumes", { query: { filters }, signal });
  if (!answer.ok) return [];
  return (answer.value.Volumes ?? [])
    .filter(({ Labels }) => !owners.isAlive(Labels?.[LABEL.owner] ?? ""))
    .map(({ Name }) => Name);
}

interface StaleFacts {
  readonly lease: (Lease & { readonly usedAtMs: number }) | undefined;
  readonly isAlive: (owner: string) => boolean;
  readonly nowMs: number;
}

/** Whether a task's container of this installation may go. Proxies are judged by who still needs them. */
export function isStale(
  container: ListedContainer,
  rule: Pick<StaleRule, "thresholdMs" | "liveTasks">,
  { lease, isAlive, nowMs }: StaleFacts,
): boolean {
  const labels = container.Labels;
  if (lease?.state === "ended") return true;
  if (rule.liveTasks?.has(containerTask(listedContainerName(container), labels))) return false;
  const ownerLives = isAlive(lease?.owner ?? labels[LABEL.owner] ?? "");
  // No process has claimed it: without its maker it is useless.
  if (labels[LABEL.role] === "warm" && lease === undefined) return !ownerLives;
  const kind = lease?.lease ?? labels[LABEL.lease];
  if (kind === "detached" && lease?.state !== "preparing") {
    const usedAtMs = Math.max(lease?.usedAtMs ?? 0, container.Created * 1000);
    return nowMs - usedAtMs > rule.thresholdMs;
  }
  return !ownerLives;
}
