const SIZE = /^(\d+(?:\.\d+)?)\s*(B|[KMGT]B|[KMGT]iB|[kmgtKMGT])?$/;
const POWERS = "KMGT";

/** `2GiB`, `500MB`, `4g`, `1048576` → bytes; undefined when it is no size. */
export function parseByteSize(text: string): number | undefined {
  const match = SIZE.exec(text.trim());
  if (match === null) return undefined;
  const unit = match[2] ?? "B";
  const power = unit === "B" ? 0 : POWERS.indexOf(unit.charAt(0).toUpperCase()) + 1;
  const base = /^[KMGT]B$/.test(unit) ? 1000 : 1024;
  const bytes = Math.floor(Number(match[1]) * base ** power);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
