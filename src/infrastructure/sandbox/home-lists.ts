import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { maskSecrets } from "../../domain/platform/mask.ts";
import lists from "./home-lists.json" with { type: "json" };

/** The parts of a home that jobs see, named deep enough to leave out credentials beside caches (`.cargo/credentials.toml`). */
export const ALLOWED_FOLDERS: readonly string[] = Object.values(lists.folders).flat();

/** Settings that tools read. A line of them that holds a secret is left out. */
export const ALLOWED_FILES: readonly string[] = lists.files;

/** The paths in a user's home that commands of a job may not even read. */
const SECRET_PATHS: readonly string[] = lists.secrets;

/** The secrets in a home, as absolute paths without a link on the way. A link is named twice: by its own name and by its target. */
export function findHomeSecrets(home: string): string[] {
  // Git does not commit without its settings, and their secrets are mostly ways to a helper.
  const settings = ALLOWED_FILES.filter((path) => !path.includes("git") && holdsSecret(join(home, path)));
  const paths = [...SECRET_PATHS, ...settings];
  return paths.flatMap((path) => namesOf(join(home, path)));
}

function namesOf(path: string): string[] {
  return attemptOr([], () => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    const own = join(realpathSync(dirname(path)), basename(path));
    return stats.isSymbolicLink() && existsSync(own) ? [own, realpathSync(own)] : [own];
  });
}

function holdsSecret(file: string): boolean {
  return attemptOr(false, () => {
    const text = readFileSync(file, "utf8");
    return stripSecrets(text) !== text;
  });
}

/** A registry stays known, its token does not. A heading stays without its secret, or the lines below would belong to the one before. */
export function stripSecrets(text: string): string {
  const kept: string[] = [];
  let gone: string | null = null;
  /** The quotes that a value over several lines ends with. */
  let open: string | null = null;
  for (const line of withoutPrivateKeys(text).split("\n")) {
    if (open !== null) {
      if (line.includes(open)) open = null;
      continue;
    }
    if (gone !== null && continues(line, gone)) continue;
    const plain = maskSecrets(
      line
        .replace(/(:\/\/)[^/\s"'@]+@/g, "$1")
        .replace(/(:\/\/[^/\s"']+(?:\/[^\s"']*)?)\/t\/[^/\s"']+/g, "$1")
        .replace(/[^\s/@"'=,]*:[^\s/@"']+@(?=[\w[])/g, ""),
    );
    const isHeading = /^\s*\[.*\]\s*$/.test(line);
    const stays = isHeading || (plain === line && !namesSecret(line));
    if (stays) kept.push(plain);
    gone = stays ? null : line;
    if (!stays) open = /^[^"']*("""|''')(?!.*\1)/.exec(line)?.[1] ?? null;
  }
  return kept.join("\n");
}

/** A quoted key may be on one line, with breaks written as `\n`, or on several. */
function withoutPrivateKeys(text: string): string {
  return text.replace(
    /^.*-----BEGIN [A-Z ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-*.*(?:\n|(?![\s\S]))|(?![\s\S]))/gm,
    "",
  );
}

/** In all of these formats, a line belongs to a less indented one before it, or to one that ends with a backslash. */
function continues(line: string, before: string): boolean {
  if (/\\\r?$/.test(before)) return true;
  const depth = (one: string) => /^\s*/.exec(one)?.[0].length ?? 0;
  return line.trim() !== "" && depth(line) > depth(before);
}

const SECRET_WORD =
  "(?:auth(?!or(?!i))|token|passw|passphrase|pass(?=[\"']?\\s*[=:])|secret|(?:api|access|private)[_-]?key|credential|extraheader|cookie)";
/** As a key anywhere in a line: in an inline table, or in the query of a URL. */
const NAMES_SECRET = new RegExp(`(?:^|[\\s{,;|?&"'(])[\\w./:@%-]*${SECRET_WORD}[\\w.-]*["']?\\s*[=:]`, "i");
/** Formats that write a key and its value side by side. */
const SECRET_BESIDE = new RegExp(`^\\s*["']?[\\w./:@%-]*${SECRET_WORD}[\\w.-]*["']?\\s+["']?\\S`, "i");
/** The same in the middle of a line, as in `machine HOST login USER password WORD`. */
const PASSWORD_BESIDE = /\s(?:passw(?:or)?d|passphrase|token|secret)\s+\S/i;
/** Bundler names a host by its letters, dots as `__`, and its value is a user and a password. */
const BUNDLER_HOST = /^\s*["']?BUNDLE_(?!(?:LOCAL|BUILD|MIRROR|PLUGINS)__)\w*__\w*["']?\s*:/i;

function namesSecret(line: string): boolean {
  return [NAMES_SECRET, SECRET_BESIDE, PASSWORD_BESIDE, BUNDLER_HOST].some((form) => form.test(line));
}
