import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";

type Env = Readonly<Record<string, string | undefined>>;

const KEY_LINE = /^([A-Z][A-Z0-9_]*_API_KEY)=(\S+)$/;

/** Where `picoclaw login` keeps keys: one `NAME=value` a line, readable by its owner alone. */
export function keptKeysFile(home: string): string {
  return join(home, "keys.env");
}

/** The environment over the kept keys. A file of another user, or that others can read, is left alone and `refused`. */
export function withKeptKeys(env: Env, home: string): { readonly env: Env; readonly refused: string | null } {
  const file = keptKeysFile(home);
  const stat = lookAt(file);
  if (stat === undefined) return { env, refused: null };
  const isOwn = process.getuid === undefined || stat.uid === process.getuid();
  if (!stat.isFile() || !isOwn || (stat.mode & 0o077) !== 0) return { env, refused: file };
  return { env: { ...readKeys(file), ...withoutEmpty(env) }, refused: null };
}

/** A home that cannot be looked into keeps no keys; the command itself says what is wrong with it. */
function lookAt(file: string): Stats | undefined {
  return attemptOr(undefined, () => lstatSync(file, { throwIfNoEntry: false }));
}

function withoutEmpty(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== "" || !KEY_LINE.test(`${name}=x`)),
  );
}

function readKeys(file: string): Record<string, string> {
  const lines = readFileSync(file, "utf8").split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = KEY_LINE.exec(line.trim()) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Keeps one key, or with null forgets it; all or nothing. Throws the system's error with the path of the file. */
export function keepKey(home: string, name: string, value: string | null): void {
  const file = keptKeysFile(home);
  const stat = lookAt(file);
  const { [name]: _, ...others } = stat?.isFile() === true ? readKeys(file) : {};
  const all = value === null ? others : { ...others, [name]: value };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lines = Object.entries(all).map(([key, text]) => `${key}=${text}\n`);
  const next = `${file}.${process.pid}`;
  try {
    writeFileSync(next, lines.join(""), { mode: 0o600 });
    chmodSync(next, 0o600);
    renameSync(next, file);
  } catch (error) {
    attemptOr(undefined, () => rmSync(next, { force: true }));
    throw Object.assign(error as Error, { path: file });
  }
}
