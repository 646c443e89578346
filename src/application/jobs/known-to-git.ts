import type { Change } from "../../domain/jobs/result.ts";
import { readGitIndex } from "../../domain/policy/git-index.ts";
import type { BeforeAndAfter, Repository } from "../ports/jobs-transaction.ts";

/**
 * What git itself put there (a checkout, a reset) is the repository's content, not a job's edit. Only what git had before
 * the job counts, at that path: a job can add, pack, commit and pull whatever it likes. A file is git's own when the index
 * lists it as it is and git had it so; its absence is, when the commit that was checked out had it, and the one that is
 * checked out now, which git had before too, does not.
 */
export function createKnownToGit(
  sides: BeforeAndAfter,
  sha1: (bytes: Uint8Array) => string,
): (change: Change) => boolean {
  let repository: Repository | null | undefined;
  let now: ReadonlyMap<string, string> | null = null;
  return ({ path, kind }) => {
    if (repository === undefined) ({ repository } = sides);
    if (repository === null) return false;
    const { history, workspaceAt, index } = repository;
    const inside = below(workspaceAt, path);
    if (inside === null) return false;
    now ??= objectsByPath(sides.current(index));
    if (kind === "deleted") {
      if (now.has(inside) || !objectsByPath(sides.original(index)).has(inside)) return false;
      const head = headOf(sides, repository);
      return head !== null && hasBlob(history.at("HEAD", inside)) && history.at(head, inside) === "nothing";
    }
    const object = now.get(inside);
    const bytes = sides.current(path);
    if (object === undefined || bytes === null || blobName(bytes, sha1) !== object) return false;
    return history.had(inside, object);
  };
}

function hasBlob(found: string): boolean {
  return found !== "nothing" && found !== "unknown";
}

/** The commit that is checked out now; null where that cannot be told. */
function headOf(sides: BeforeAndAfter, { index, objects }: Repository): string | null {
  const gitDirectory = index.slice(0, -"index".length);
  const common = objects.slice(0, -"objects".length);
  const read = (path: string) => new TextDecoder().decode(sides.current(path) ?? new Uint8Array());
  const head = read(`${gitDirectory}HEAD`).trim();
  const ref = /^ref: (refs\/[^\s]+)$/.exec(head)?.[1];
  const loose = ref === undefined ? head : read(`${common}${ref}`).trim();
  if (COMMIT.test(loose)) return loose;
  const packed = read(`${common}packed-refs`).split("\n");
  return packed.find((line) => line.slice(41) === ref)?.slice(0, 40) ?? null;
}

const COMMIT = /^[0-9a-f]{40}$/;

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
