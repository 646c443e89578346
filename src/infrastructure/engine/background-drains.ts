/**
 * Streams that outlive their command because a background child holds them open. They are read and
 * forgotten, so that the child neither blocks nor dies of a closed pipe, until it ends or its job does.
 */
const drains = new Map<string, Set<() => void>>();

export function keepDraining(jobMarker: string, ended: Promise<unknown>, stop: () => void): void {
  const ofJob = drains.get(jobMarker) ?? new Set();
  drains.set(jobMarker, ofJob.add(stop));
  void ended.then(() => {
    ofJob.delete(stop);
    if (ofJob.size === 0 && drains.get(jobMarker) === ofJob) drains.delete(jobMarker);
  });
}

export function stopDraining(jobMarker: string): void {
  for (const stop of drains.get(jobMarker) ?? []) stop();
}
