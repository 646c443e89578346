/** A document with the keys of the outside world. */
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
      snakeCased(each),
    ]),
  );
}
