import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { maskSecrets } from "../../domain/policy/mask.ts";
import type { ShownHome } from "./shown-home.ts";

/** Makes the folder that lies under a job's home: the files and links that it may see, and nothing else. */
export function seedHome(seed: string, { path: home, files, links }: ShownHome): void {
  mkdirSync(seed, { recursive: true, mode: 0o700 });
  const place = (path: string) => {
    const to = join(seed, relative(home, path));
    mkdirSync(dirname(to), { recursive: true });
    return to;
  };
  for (const { path, whole } of files) {
    try {
      if (whole) copyFileSync(path, place(path));
      else writeFileSync(place(path), stripSecrets(readFileSync(path, "utf8")));
      chmodSync(place(path), lstatSync(path).mode & 0o777);
    } catch {
      // What its owner cannot read, or takes away meanwhile, the job does not see.
    }
  }
  for (const { path, target } of links)
    if (lstatSync(place(path), { throwIfNoEntry: false }) === undefined) symlinkSync(target, place(path));
}

/**
 * A registry stays known, its token does not. A heading stays too, without the secret in it: what stands below it would
 * otherwise belong to the one before.
 */
function stripSecrets(text: string): string {
  return text
    .split("\n")
    .flatMap((line) => {
      const plain = maskSecrets(line.replace(/(:\/\/)[^/\s"'@]+@/g, "$1"));
      const isHeading = /^\s*\[.*\]\s*$/.test(line);
      return plain === line || isHeading ? [plain] : [];
    })
    .filter((line) => !NAMES_SECRET.test(line))
    .join("\n");
}

const NAMES_SECRET =
  /^\s*["']?[\w./:@-]*(_auth|authtoken|auth_token|token|passw(or)?d|_password|smtppass|secret|api_?key|extraheader|cookiefile)["']?\s*[=:]/i;
