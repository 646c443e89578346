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

/** Homes of people on this machine, root's among them. */
export function peoplesHomes(accounts = readAccounts()): string[] {
  const isPerson = (uid: number) => uid === 0 || (uid >= 1000 && uid < 65534);
  return accounts
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length > 5 && isPerson(Number(fields[2])))
    .flatMap((fields) => realOrNull(fields[5] ?? "") ?? [])
    .filter((path) => path !== "/");
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
