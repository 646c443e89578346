/** Hashes without `node:crypto`, whose load alone costs more than a small job. */
export type HashName = "sha1" | "sha256";

export function hashHex(name: HashName, ...parts: readonly (Uint8Array | string)[]): string {
  const hasher = new Bun.CryptoHasher(name);
  for (const part of parts) hasher.update(part);
  return hasher.digest("hex");
}
