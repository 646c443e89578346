/**
 * Where the machine's limits leave no room for a tag, an orphan that fled its session and emptied its
 * environment is known only by having become our child since the job began. With two such jobs at once
 * nobody can tell whose it is: it then ends with the last of them.
 */
const since = new Map<string, number>();

export function untaggedRunStarted(jobMarker: string, startedAt: number): void {
  since.set(jobMarker, Math.min(startedAt, since.get(jobMarker) ?? startedAt));
}

export function untaggedJobEnded(jobMarker: string): void {
  since.delete(jobMarker);
}

/** From when on nameless orphans are this job's; undefined when they cannot be told apart, or need not be. */
export function orphansSince(jobMarker: string): number | undefined {
  return since.size === 1 ? since.get(jobMarker) : undefined;
}
