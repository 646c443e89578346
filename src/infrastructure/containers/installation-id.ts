import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** This PicoClaw's own name on an engine that others may use too. Made once; two at the same time agree on one. */
export function readInstallationId(home: string, newId: () => string): string {
  const file = join(home, "installation-id");
  const known = readIdFile(file);
  if (known !== undefined) return known;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const id = newId();
  const fresh = `${file}.${id}`;
  writeFileSync(fresh, `${id}\n`, { mode: 0o600 });
  try {
    linkSync(fresh, file);
  } catch {
    // Another process was first.
  } finally {
    unlinkSync(fresh);
  }
  return readIdFile(file) ?? id;
}

function readIdFile(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
