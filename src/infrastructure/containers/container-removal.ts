import type {
  Leftover,
  Removal,
  SandboxFailure,
  StaleCleanup,
  StaleRule,
} from "../../application/ports/containers.ts";
import { containerTask, type ListedContainer, listedContainerName, listOwnContainers } from "./container-state.ts";
import type { Engine } from "./docker-engine.ts";
import { LABEL } from "./labels.ts";
import type { Lease, Leases } from "./leases.ts";
import type { Owners } from "./container-owners.ts";
import { pruneImages } from "./prune-images.ts";
import { type RemoveContainerDeps, removeVolumes } from "./remove-container.ts";

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
  parts: StaleCleanupDeps,
  rule: StaleRule,
): Promise<StaleCleanup | SandboxFailure> {
  const { engine, installation, owners, leases, now } = parts;
  const listed = await listOwnContainers(engine, installation, rule.signal);
  if (!Array.isArray(listed)) return listed as SandboxFailure;
  const containers: string[] = [];
  const leftovers: Leftover[] = [];
  const removeListed = async (container: ListedContainer) => {
    const removal = await parts.remove(container.Id, { force: true });
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
  for (const proxy of idleProxies(parts, staying))
    if (!owners.isAlive(proxy.Labels[LABEL.owner] ?? "")) await removeListed(proxy);
  const volumes = await danglingVolumes(parts, rule.signal);
  const kept = await removeVolumes(parts.removing, volumes);
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

/** At the end of a process: what nobody needs does not stay running. */
export async function removeIdleProxies(parts: StaleCleanupDeps): Promise<void> {
  const listed = await listOwnContainers(parts.engine, parts.installation, undefined);
  if (!Array.isArray(listed)) return;
  for (const proxy of idleProxies(parts, listed)) await parts.remove(proxy.Id, { force: true });
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
  }>({ method: "GET", path: "/volumes", query: { filters }, signal });
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
  // Nobody has claimed it: without its maker it is of no use.
  if (labels[LABEL.role] === "warm" && lease === undefined) return !ownerLives;
  const kind = lease?.lease ?? labels[LABEL.lease];
  if (kind === "detached" && lease?.state !== "preparing") {
    const usedAtMs = Math.max(lease?.usedAtMs ?? 0, container.Created * 1000);
    return nowMs - usedAtMs > rule.thresholdMs;
  }
  return !ownerLives;
}
