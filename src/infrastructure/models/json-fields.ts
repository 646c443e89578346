/** The data from a server, before any check. */
export type Json = unknown;

/** A member of what may not be an object. */
export function fieldAt(value: Json, ...path: readonly (string | number)[]): Json {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

export function textAt(value: Json, ...path: readonly (string | number)[]): string {
  const found = fieldAt(value, ...path);
  return typeof found === "string" ? found : "";
}

export function countAt(value: Json, ...path: readonly (string | number)[]): number {
  const found = fieldAt(value, ...path);
  return typeof found === "number" && Number.isFinite(found) && found > 0 ? Math.floor(found) : 0;
}

export function listAt(value: Json, ...path: readonly (string | number)[]): readonly Json[] {
  const found = fieldAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
