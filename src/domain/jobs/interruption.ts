/** A commit, undo or redo that was cut off, as by a kill or a power cut. */
export interface Interruption {
  readonly direction: "commit" | "undo" | "redo";
  /** `open`: nobody has repaired it yet. `taken-back`: everything stands as it did before. */
  readonly outcome: "open" | "finished" | "taken-back";
  /** Paths that somebody had edited before the repair, which left them as they were. */
  readonly left: readonly string[];
}
