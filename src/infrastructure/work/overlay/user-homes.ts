import { readFileSync, realpathSync, statSync } from "node:fs";

/** A user's home as the environment names it and as the system does; each once, as real paths, `/` left out. */
export function userHomes(named: string | undefined, uid: number, accounts = readAccounts()): string[] {
  const known = accounts
    .split("\n")
    .map((line) => line.split(":"))
    .find((fields) => fields[2] === String(uid))?.[5];
  const real = [named, known].map((path) => (path ? realOrNull(path) : null));
  return [...new Set(real)].filter(
    (path): path is string => path !== null && path !== "/" && statSync(path).isDirectory(),
  );
}

function readAccounts(): string {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    return "";
  }
}

export function realOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
