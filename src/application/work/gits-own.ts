import type { Change } from "../../domain/patch/result.ts";
import { readGitIndex } from "../../domain/policy/git-index.ts";
import type { Sides } from "../ports/transaction.ts";

/**
 * What git itself put there (a checkout, a reset, a pull) is the repository's content, not a job's edit: the file
 * is what the index lists, and the job did not add that object itself. Objects that are fetched arrive in packs
 * (`fetch.unpackLimit`), those of `git add` lie loose.
 */
export function createGitsOwn(
  transaction: Sides,
  changes: readonly Change[],
  sha1: (bytes: Uint8Array) => string,
): (change: Change) => boolean {
  let known: readonly Listing[] | null = null;
  return ({ path, kind }) => {
    known ??= listings(transaction, changes);
    const listing = known.find((one) => one.inside(path) !== null);
    if (listing === undefined) return false;
    const inside = listing.inside(path) as string;
    if (kind === "deleted") return listing.before.has(inside) && !listing.now.has(inside);
    const object = listing.now.get(inside);
    const bytes = transaction.current(path);
    if (object === undefined || bytes === null) return false;
    return blobName(bytes, sha1) === object && !isNewLooseObject(transaction, listing.objects, object);
  };
}

interface Listing {
  /** A path of the change set as the index spells it; null when it lies elsewhere. */
  readonly inside: (path: string) => string | null;
  readonly objects: string;
  readonly now: ReadonlyMap<string, string>;
  readonly before: ReadonlyMap<string, string>;
}

/** Nested repositories whose index changed, deepest first, then the workspace's own. */
function listings(transaction: Sides, changes: readonly Change[]): Listing[] {
  const { repository } = transaction;
  const read = (index: string) => ({
    now: objectsByPath(transaction.current(index)),
    before: objectsByPath(transaction.original(index)),
  });
  const nested = changes
    .map(({ path }) => path)
    .filter((path) => path.endsWith("/.git/index") && path !== repository?.index)
    .sort((x, y) => y.length - x.length)
    .map((index): Listing => {
      const folder = index.slice(0, -".git/index".length);
      const inside = (path: string) => (path.startsWith(folder) ? path.slice(folder.length) : null);
      return { inside, objects: `${folder}.git/objects`, ...read(index) };
    });
  if (repository === null) return nested;
  const { workspaceAt, index, objects } = repository;
  return [...nested, { inside: (path) => below(workspaceAt, path), objects, ...read(index) }];
}

/** `packages/api` and `../web/a.ts` → `packages/web/a.ts`; null above the top. */
function below(folder: string, path: string): string | null {
  const parts = folder === "" ? [] : folder.split("/");
  for (const part of path.split("/")) {
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join("/");
}

function objectsByPath(index: Uint8Array | null): ReadonlyMap<string, string> {
  const entries = index === null ? null : readGitIndex(index);
  return new Map((entries ?? []).map(({ path, object }) => [path, object]));
}

function blobName(bytes: Uint8Array, sha1: (bytes: Uint8Array) => string): string {
  return sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]));
}

function isNewLooseObject(transaction: Sides, objects: string, object: string): boolean {
  const path = `${objects}/${object.slice(0, 2)}/${object.slice(2)}`;
  return transaction.current(path) !== null && transaction.original(path) === null;
}
