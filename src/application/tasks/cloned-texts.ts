import { namedFiles } from "../../domain/coder/named-files.ts";
import type { Term } from "../../domain/coder/context-request-terms.ts";
import { byPlausibility } from "../coder/coder-context.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { TaskEnvironment } from "../ports/task-environments.ts";

const LISTING_BYTES = 4 * 1024 ** 2;
/** Of all files together: what is read of a large project is what the words make plausible. */
const TEXT_BYTES = 6 * 1024 ** 2;
const FILE_BYTES = 256 * 1024;
const MOST_FILES = 4000;

interface Blob {
  readonly path: string;
  readonly id: string;
  readonly bytes: number;
}

/** The texts of the cloned commit that a request may point to, fetched at once, so that they can be ranked. */
export async function clonedTexts(
  environment: TaskEnvironment,
  { request, terms }: { readonly request: string; readonly terms: readonly Term[] },
  signal: AbortSignal,
): Promise<Pick<ProjectFiles, "list" | "read" | "find">> {
  const listed = await environment.print("git ls-tree -r -z -l --full-tree HEAD", {
    limitBytes: LISTING_BYTES,
    signal,
  });
  const blobs = typeof listed === "string" ? [] : blobsIn(Buffer.from(listed).toString("utf8"));
  const paths = blobs.map(({ path }) => path);
  const first = new Set(namedFiles(request, paths).map(({ path }) => path));
  const wanted = chooseBlobs(blobs, [
    ...first,
    ...byPlausibility(paths, terms).filter((path) => !first.has(path)),
  ]);
  const printed = await environment.print("git cat-file --batch", {
    stdin: wanted.map(({ id }) => `${id}\n`).join(""),
    limitBytes: TEXT_BYTES * 2,
    signal,
  });
  const texts =
    typeof printed === "string" ? new Map<string, string>() : textsIn(Buffer.from(printed), wanted);
  return filesInMemory(paths, texts);
}

/** Links, submodules and what is large are left out. */
function blobsIn(listing: string): Blob[] {
  return listing.split("\0").flatMap((line) => {
    const [, id, bytes, path] = /^100\d{3} blob ([0-9a-f]{40,64}) +(\d+)\t(.+)$/s.exec(line) ?? [];
    if (id === undefined || path === undefined || Number(bytes) > FILE_BYTES) return [];
    return [{ path, id, bytes: Number(bytes) }];
  });
}

function chooseBlobs(blobs: readonly Blob[], paths: readonly string[]): Blob[] {
  const byPath = new Map(blobs.map((blob) => [blob.path, blob]));
  const chosen: Blob[] = [];
  let left = TEXT_BYTES;
  for (const path of paths.slice(0, MOST_FILES)) {
    const blob = byPath.get(path);
    if (blob === undefined || blob.bytes > left) continue;
    left -= blob.bytes;
    chosen.push(blob);
  }
  return chosen;
}

/** One head and as many bytes as it says, for each; what does not fit ends it. */
function textsIn(printed: Buffer, blobs: readonly Blob[]): Map<string, string> {
  const texts = new Map<string, string>();
  let at = 0;
  for (const { path, id, bytes } of blobs) {
    const head = `${id} blob ${bytes}\n`;
    const from = at + head.length;
    if (printed.toString("latin1", at, from) !== head || from + bytes > printed.length) break;
    const content = printed.subarray(from, from + bytes);
    if (!content.includes(0)) texts.set(path, content.toString("utf8"));
    at = from + bytes + 1;
  }
  return texts;
}

function filesInMemory(
  paths: readonly string[],
  texts: ReadonlyMap<string, string>,
): Pick<ProjectFiles, "list" | "read" | "find"> {
  return {
    list: (limit) => paths.slice(0, limit),
    read(path, limitChars) {
      const text = texts.get(path);
      return text === undefined ? null : { text: text.slice(0, limitChars), cut: text.length > limitChars };
    },
    find(searched, words) {
      const hits = searched.flatMap((path) => {
        const text = texts.get(path);
        if (text === undefined) return [];
        const lower = text.toLowerCase();
        const terms = words.flatMap(({ spellings, anyCase }, at) =>
          spellings.some((one) => (anyCase ? lower.includes(one.toLowerCase()) : text.includes(one)))
            ? [at]
            : [],
        );
        return terms.length === 0 ? [] : [{ path, terms }];
      });
      return { hits, searched: searched.length };
    },
  };
}
