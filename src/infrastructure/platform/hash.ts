/** Hashes without `node:crypto`, whose load alone costs more than a small job. */
export type HashName = "sha1" | "sha256";

export function hashHex(name: HashName, ...parts: readonly (Uint8Array | string)[]): string {
  const [only] = parts;
  // A hasher is an object of the system's library, and thousands of them wait for the collection.
  if (parts.length === 1 && only !== undefined) return Bun.CryptoHasher.hash(name, only, "hex");
  const hasher = new Bun.CryptoHasher(name);
  for (const part of parts) hasher.update(part);
  return hasher.digest("hex");
}

/** UUIDv7. Those that one process makes sort in the order they were made, also when its clock is set back. */
export function createSortedIds(now: () => Date): () => string {
  const last = { ms: 0 };
  return () => {
    last.ms = Math.max(last.ms, now().getTime());
    return Bun.randomUUIDv7("hex", last.ms);
  };
}
