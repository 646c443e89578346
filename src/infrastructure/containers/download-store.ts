import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { DownloadStore } from "../../application/ports/containers.ts";
import type { ProcessRunner } from "../../application/ports/platform-processes.ts";

const CHUNK_BYTES = 1024 ** 2;

/** One archive a key. */
export function createDownloadStore(folder: string, limitBytes: number): DownloadStore {
  const file = (key: string) => join(folder, `${key}.tar`);
  return {
    has: (key) => statSync(file(key), { throwIfNoEntry: false }) !== undefined,
    async *read(key) {
      const fd = openSync(file(key), "r");
      try {
        utimesSync(file(key), new Date(), new Date());
        for (;;) {
          const chunk = new Uint8Array(CHUNK_BYTES);
          const got = readSync(fd, chunk, 0, CHUNK_BYTES, null);
          if (got === 0) return;
          yield chunk.subarray(0, got);
        }
      } finally {
        closeSync(fd);
      }
    },
    create(key) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const fresh = `${file(key)}.${process.pid}.${crypto.randomUUID()}`;
      const fd = openSync(fresh, "wx", 0o600);
      const state = { open: true };
      const close = () => {
        if (state.open) closeSync(fd);
        state.open = false;
      };
      return {
        write(bytes) {
          for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
        },
        keep() {
          close();
          renameSync(fresh, file(key));
          evict(folder, limitBytes, `${key}.tar`);
        },
        drop() {
          close();
          rmSync(fresh, { force: true });
        },
      };
    },
  };
}

function evict(folder: string, limitBytes: number, newest: string): void {
  const kept = readdirSync(folder)
    .filter((name) => name.endsWith(".tar") && name !== newest)
    .map((name) => ({ name, ...statOf(join(folder, name)) }))
    .sort((x, y) => y.usedAt - x.usedAt);
  let total = statOf(join(folder, newest)).size;
  for (const { name, size } of kept) {
    total += size;
    if (total > limitBytes) rmSync(join(folder, name), { force: true });
  }
}

/** Another process may just have evicted it. */
function statOf(path: string): { size: number; usedAt: number } {
  const stats = statSync(path, { throwIfNoEntry: false });
  return { size: stats?.size ?? 0, usedAt: stats?.mtimeMs ?? 0 };
}

export interface NpmRegistryDeps {
  readonly processes: ProcessRunner;
  /** The environment of npm: what finds programs, and npm's own settings. */
  readonly env: Readonly<Record<string, string>>;
  /** `command_executor.install.npm_registry`. */
  readonly configured: string | null;
}

const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES = 64 * 1024;

/** The npm registry of the configuration, else of this machine's npm, asked in `/` so that no workspace has a say; null: neither. */
export function createNpmRegistry({ processes, env, configured }: NpmRegistryDeps) {
  return async (signal?: AbortSignal): Promise<string | null> => {
    if (configured !== null) return configured;
    const asked = await processes.runProcess({
      argv: ["npm", "config", "get", "registry"],
      cwd: "/",
      env,
      timeoutMs: TIMEOUT_MS,
      outputLimitBytes: OUTPUT_BYTES,
      jobMarker: "images",
      ...(signal !== undefined && { signal }),
    });
    const url = asked.stdout.trim();
    return asked.exitCode === 0 && /^https?:\/\/\S+$/.test(url) ? url : null;
  };
}
