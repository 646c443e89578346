import type { WorkerProgress } from "../../application/ports/heads.ts";
import { readTrouble, type StreamReader } from "./kinds/worker-kind.ts";

/** How often a CLI may report that its model does not answer before it is ended: some would retry without end. */
const TROUBLES_BORNE = { unauthorized: 2, unreachable: 3 } as const;

export type RunWatch = ReturnType<typeof watchRun>;

/** One run of an agent's CLI, on this machine or in a container: reads its events, and ends it if its model does not answer. */
export function watchRun({
  reader,
  mask,
  mostReported = Number.POSITIVE_INFINITY,
  onProgress,
}: {
  readonly reader: Pick<StreamReader, "feed">;
  readonly mask: (text: string) => string;
  /** Later progress is neither masked nor reported. */
  readonly mostReported?: number;
  readonly onProgress: (progress: WorkerProgress) => void;
}) {
  let told = 0;
  const end = new AbortController();
  const seen = { unauthorized: 0, unreachable: 0, last: "" };
  function tell(progress: WorkerProgress): void {
    if (told++ < mostReported) onProgress(maskProgress(progress, mask));
    if (progress.kind !== "trouble" || progress.code === "other") return;
    seen[progress.code]++;
    seen.last = progress.text;
    if (seen[progress.code] >= TROUBLES_BORNE[progress.code]) end.abort();
  }
  return {
    /** Aborts when it is to be ended before its time. */
    signal: end.signal,
    giveUp: () => end.abort(),
    onOutput(stream: "stdout" | "stderr", text: string): void {
      if (stream === "stdout") {
        // Pieces of a growing text that arrive together are reported once.
        const isLast = ({ kind }: WorkerProgress, at: number, all: readonly WorkerProgress[]) => {
          const next = all[at + 1];
          return kind !== "text" || next?.kind !== "text" || next.grown !== true;
        };
        for (const progress of reader.feed(text).filter(isLast)) tell(progress);
      } else
        for (const line of text.split("\n")) {
          const trouble = readTrouble(line);
          if (trouble.code === "unreachable") tell(trouble);
        }
    },
    /** The failure of its model that it reported; `detail` is masked. */
    trouble(): { readonly code: "unauthorized" | "unreachable"; readonly detail: string } | null {
      const code = seen.unauthorized > 0 ? "unauthorized" : seen.unreachable > 0 ? "unreachable" : null;
      return code === null ? null : { code, detail: mask(seen.last) };
    },
  };
}

function maskProgress(progress: WorkerProgress, mask: (text: string) => string): WorkerProgress {
  if (progress.kind === "text") return { kind: "text", text: mask(progress.text) };
  if (progress.kind === "trouble") return { ...progress, text: mask(progress.text) };
  return progress.kind === "command" ? { ...progress, command: mask(progress.command) } : progress;
}
