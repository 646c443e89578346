import type {
  Leftover,
  Removal,
  SandboxFailure,
  StaleCleanup,
  StaleRule,
} from "../../application/ports/sandbox.ts";
import { type ListedContainer, listOwn, nameOf } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { LABEL } from "./labels.ts";
import type { Leases } from "./leases.ts";
import type { Owners } from "./owners.ts";
import { type RemoveParts, removeVolumes } from "./remove-container.ts";
import { isStale } from "./stale.ts";

export interface CleanUpParts {
  readonly engine: Engine;
  readonly installation: string;
  readonly owners: Owners;
  readonly leases: Leases;
  readonly now: () => number;
  readonly remove: (container: string, how: { readonly force: boolean }) => Promise<Removal>;
  readonly removing: RemoveParts;
}

/** A proxy without a user stays this long: the next task would only make it again. */
const IDLE_PROXY_MS = 10 * 60_000;

/** Containers first, then proxies that no container needs, then volumes that no container uses. */
export async function cleanUpStale(
  parts: CleanUpParts,
  rule: StaleRule,
): Promise<StaleCleanup | SandboxFailure> {
  const { engine, installation, owners, leases, now } = parts;
  const listed = await listOwn(engine, installation, rule.signal);
  if (!Array.isArray(listed)) return listed as SandboxFailure;
  const containers: string[] = [];
  const leftovers: Leftover[] = [];
  const removeListed = async (container: ListedContainer) => {
    const removal = await parts.remove(container.Id, { force: true });
    leftovers.push(...removal.leftovers);
    if (removal.removed) containers.push(nameOf(container));
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
  const staying = tasks.filter((container) => !stale.includes(container));
  const needed = new Set(staying.map(({ Labels }) => Labels[LABEL.proxy]));
  for (const proxy of listed.filter(({ Labels }) => Labels[LABEL.role] === "proxy")) {
    if (needed.has(nameOf(proxy)) || owners.isAlive(proxy.Labels[LABEL.owner] ?? "")) continue;
    if (now() - proxy.Created * 1000 > IDLE_PROXY_MS) await removeListed(proxy);
  }
  const volumes = await danglingVolumes(parts, rule.signal);
  const kept = await removeVolumes(parts.removing, volumes);
  owners.sweep();
  const keptNames = new Set(kept.map(({ name }) => name));
  return {
    ok: true,
    containers,
    volumes: volumes.filter((name) => !keptNames.has(name)),
    leftovers: [...leftovers, ...kept],
  };
}

/** Volumes of this installation in no container, whose maker is gone: a live one may be about to use them. */
async function danglingVolumes(
  { engine, installation, owners }: CleanUpParts,
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
