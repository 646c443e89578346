import { JOB_VARIABLE } from "../../application/ports/process.ts";
import { isOfJob, isTag } from "./job-tag.ts";
import type { ProcessEntry } from "./process-table.ts";
import { isLiveLeader } from "./reap-orphans.ts";

/** The first process of a run. On Linux it leads its own session. */
export interface Leader {
  readonly pid: number;
  readonly startedAt: number;
  readonly runTag: bigint;
}

/** A whole job, or the single run of one command in it. */
export interface ProcessScope {
  readonly jobMarker: string;
  readonly leader?: Leader;
}

/**
 * Steps: what bears the job's mark (inherited tag, environment variable, the leader's session), then
 * all descendants of those. Never this process itself. Zombies are included. Parents come before their
 * children: a shell that is signaled first does not report its child as "Terminated".
 */
export function selectProcesses(
  table: readonly ProcessEntry[],
  scope: ProcessScope,
  known: ReadonlySet<string> = new Set(),
): readonly ProcessEntry[] {
  const childrenOf = Map.groupBy(table, (entry) => entry.parentPid);
  const selected = new Map<number, ProcessEntry>();
  const isOrphan = orphanTest(table, scope);
  const queue = table.filter(
    (entry) => known.has(processKey(entry)) || isMarked(entry, scope) || isOrphan(entry),
  );
  for (let entry = queue.pop(); entry; entry = queue.pop()) {
    if (entry.pid === process.pid || selected.has(entry.pid)) continue;
    selected.set(entry.pid, entry);
    queue.push(...(childrenOf.get(entry.pid) ?? []));
  }
  return [...selected.values()].sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid);
}

export function processKey(entry: Pick<ProcessEntry, "pid" | "startedAt">): string {
  return `${entry.pid}:${entry.startedAt}`;
}

function isMarked(entry: ProcessEntry, { jobMarker, leader }: ProcessScope): boolean {
  if (leader && entry.startedAt < leader.startedAt) return false;
  if (leader && entry.session === leader.pid) return true;
  const tag = entry.tag();
  if (tag !== undefined && isTag(tag)) return leader ? tag === leader.runTag : isOfJob(tag, jobMarker);
  return entry.hasVariable(JOB_VARIABLE, jobMarker);
}

function orphanTest(table: readonly ProcessEntry[], { jobMarker, leader }: ProcessScope) {
  const since = leader ? orphansSince(jobMarker) && leader.startedAt : orphansSince(jobMarker);
  const own = table.find((entry) => entry.pid === process.pid);
  return (entry: ProcessEntry) =>
    since !== undefined &&
    own !== undefined &&
    entry.parentPid === own.pid &&
    entry.session !== own.session &&
    entry.startedAt >= since &&
    !isLiveLeader(entry.pid) &&
    !isTag(entry.tag() ?? 0n);
}

/**
 * Where the machine's limits leave no room for a tag, an orphan that fled its session and emptied its
 * environment is known only by having become our child since the job began. With two such jobs at once
 * nobody can tell whose it is: it then ends with the last of them.
 */
const untaggedSince = new Map<string, number>();

export function untaggedRunStarted(jobMarker: string, startedAt: number): void {
  untaggedSince.set(jobMarker, Math.min(startedAt, untaggedSince.get(jobMarker) ?? startedAt));
}

export function untaggedJobEnded(jobMarker: string): void {
  untaggedSince.delete(jobMarker);
}

/** From when on nameless orphans are this job's; undefined when they cannot be told apart, or need not be. */
function orphansSince(jobMarker: string): number | undefined {
  return untaggedSince.size === 1 ? untaggedSince.get(jobMarker) : undefined;
}
