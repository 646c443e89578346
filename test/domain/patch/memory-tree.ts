import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";
import type { FileEntry, FileSource, FileWrite } from "../../../src/domain/patch/patch-command.ts";
import type { PlanOptions } from "../../../src/domain/patch/plan-edit.ts";

export type Entry =
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "directory" };

export const planOptions: PlanOptions = {
  inflate: (data, size) => inflateSync(data, { maxOutputLength: size + 1 }),
  sha1: (bytes) => createHash("sha1").update(bytes).digest("hex"),
};

/** A workspace in memory, enough to carry out plans. */
export class MemoryTree implements FileSource {
  readonly entries = new Map<string, Entry>();

  look(path: string): FileEntry {
    return this.entries.get(path) ?? { kind: "missing" };
  }

  put(path: string, content: string | Uint8Array, mode = 0o644): this {
    this.addParents(path);
    const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
    this.entries.set(path, { kind: "file", bytes, mode });
    return this;
  }

  write(writes: readonly FileWrite[]): void {
    for (const write of writes) {
      if (write.kind === "delete") this.remove(write.path, write.pruneParents === true);
      else if (write.kind === "symlink") {
        this.addParents(write.path);
        this.entries.set(write.path, { kind: "symlink", target: write.target });
      } else {
        const before = this.entries.get(write.path);
        this.put(write.path, write.bytes, write.mode ?? (before?.kind === "file" ? before.mode : 0o644));
      }
    }
  }

  text(path: string): string | undefined {
    const entry = this.entries.get(path);
    return entry?.kind === "file" ? Buffer.from(entry.bytes).toString("utf8") : undefined;
  }

  /** Everything in it, comparable. */
  snapshot(): Record<string, string> {
    const all: Record<string, string> = {};
    for (const [path, entry] of [...this.entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (entry.kind === "file")
        all[path] =
          `file ${entry.mode.toString(8)} ${JSON.stringify(Buffer.from(entry.bytes).toString("latin1"))}`;
      else all[path] = entry.kind === "symlink" ? `link ${entry.target}` : "directory";
    }
    return all;
  }

  private remove(path: string, prune: boolean): void {
    this.entries.delete(path);
    for (let at = path.lastIndexOf("/"); prune && at > 0; at = path.lastIndexOf("/", at - 1)) {
      const parent = path.slice(0, at);
      if ([...this.entries.keys()].some((other) => other.startsWith(`${parent}/`))) return;
      this.entries.delete(parent);
    }
  }

  private addParents(path: string): void {
    for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) {
      this.entries.set(path.slice(0, at), { kind: "directory" });
    }
  }
}
