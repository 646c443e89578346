import { tarEnd, tarHeader, tarPadding } from "./tar-archive.ts";

/** What is put into containers. Paths are relative to the root. */
export type ArchiveEntry =
  | {
      readonly kind: "directory";
      readonly path: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      readonly size: number;
      readonly content: Uint8Array | (() => AsyncIterable<Uint8Array>);
    };

/** An archive that is made while it is read: a runtime of a hundred megabytes is never in memory at once. */
export function archiveStream(entries: readonly ArchiveEntry[]): ReadableStream<Uint8Array> {
  const chunks = chunksOf(entries);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void chunks.return(undefined),
  });
}

async function* chunksOf(entries: readonly ArchiveEntry[]): AsyncGenerator<Uint8Array, void> {
  for (const entry of entries) {
    const size = entry.kind === "file" ? entry.size : 0;
    yield tarHeader({ ...entry, size });
    if (entry.kind === "directory") continue;
    if (entry.content instanceof Uint8Array) yield entry.content;
    else yield* entry.content();
    const padding = tarPadding(size);
    if (padding.length > 0) yield padding;
  }
  yield tarEnd();
}
