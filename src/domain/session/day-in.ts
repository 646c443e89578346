/** `2026-03-01`, in a time zone. */
export function dayIn(timeZone: string, at: Date): string {
  return at.toLocaleDateString("sv", { timeZone });
}
