import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM_PATH } from "./sandbox-plan.ts";

/**
 * Files of another owner or group than the user's own cannot be copied into an overlay that an ordinary user mounts
 * (EOVERFLOW): only the own ids exist in there. Whether there are any is asked once and remembered.
 */
export interface ForeignFiles {
  /** One that the user may change, and an overlay could not; null where there is none. */
  find(): string | null;
  /** An overlay met one: any that stands there now, remembered for the next job; null where there is none. */
  met(): string | null;
}

interface ForeignFilesMemory {
  /** Who asked, about what. */
  readonly asked: string;
  /** Bytes as latin1: a name need not be text. */
  readonly found: string | null;
}

export function createForeignFiles(parts: {
  readonly roots: readonly string[];
  readonly memory: string;
}): ForeignFiles {
  const { roots } = parts;
  const file = join(parts.memory, "foreign-files.json");
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const isForeign = ["(", "!", "-uid", String(uid), "-o", "!", "-gid", String(gid), ")"];
  const mayChange = ["!", "-type", "l", "(", "-uid", String(uid), "-o", "-writable", ")"];

  /** A new user, other groups or another folder in the place of a root: what was found says nothing any more. */
  function asked(): string {
    const stands = roots.map((root) => {
      const { dev, ino, uid, gid } = lstatSync(root);
      return [root, dev, ino, uid, gid].join(":");
    });
    return [uid, gid, process.getgroups?.().sort().join(","), ...stands].join(" ");
  }

  function recall(): ForeignFilesMemory | null {
    try {
      const memory = JSON.parse(readFileSync(file, "utf8")) as ForeignFilesMemory;
      if (memory.asked !== asked()) return null;
      return memory.found === null || stillForeign(memory.found) ? memory : null;
    } catch {
      return null;
    }
  }

  function stillForeign(path: string): boolean {
    const stats = lstatSync(Buffer.from(path, "latin1"), { throwIfNoEntry: false });
    return stats !== undefined && (stats.uid !== uid || stats.gid !== gid);
  }

  function remember(found: string | null): string | null {
    writeFileSync(file, JSON.stringify({ asked: asked(), found } satisfies ForeignFilesMemory));
    return found === null ? null : Buffer.from(found, "latin1").toString("utf8");
  }

  function search(test: readonly string[]): string | null {
    const ran = spawnSync("find", [...roots, "-xdev", ...test, "-print0", "-quit"], {
      encoding: "latin1",
      env: { PATH: SYSTEM_PATH, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return ran.stdout?.split("\0")[0] || null;
  }

  return {
    find() {
      const known = recall();
      return remember(known === null ? search([...isForeign, ...mayChange]) : known.found);
    },
    met() {
      const found = search(isForeign);
      return found === null ? null : remember(found);
    },
  };
}
