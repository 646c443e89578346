/** `2026-03-01`, in a time zone. */
export function formatDayIn(timeZone: string, at: Date): string {
  return at.toLocaleDateString("sv", { timeZone });
}

/** The same for many moments: to make the format is what takes the time. */
export function dayFormatter(timeZone: string): (iso: string) => string {
  const days = new Intl.DateTimeFormat("sv", { timeZone });
  return (iso) => days.format(Date.parse(iso) || 0);
}
