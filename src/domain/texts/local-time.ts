/** `2026-03-01 09:30:05` in the zone of this machine. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? iso : at.toLocaleString("sv");
}
