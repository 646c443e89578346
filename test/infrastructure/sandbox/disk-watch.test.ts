import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDiskLook } from "../../../src/infrastructure/sandbox/start-executor.ts";

const MIB = 1024 ** 2;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-disk-"));
  for (const name of ["job/view", "ws", "home/u"]) mkdirSync(join(folder, name), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const watched = (disk: number, copied = false) => ({
  job: join(folder, "job"),
  home: { folder: join(folder, "home") },
  roots: [
    {
      path: join(folder, "ws"),
      source: copied
        ? ({ kind: "bind", folder: join(folder, "job/view") } as const)
        : ({ kind: "overlay" } as const),
    },
  ],
  limits: { memory: 0, fileSize: 0, openFiles: 0, processes: 0, disk },
});

/** Every so many looks the files are counted, however little the free space has shrunk. */
function lookUntilCounted(look: ReturnType<typeof createDiskLook>) {
  for (let i = 0; i < 1201; i++) {
    const reached = look();
    if (reached !== null) return reached.reached;
  }
  return null;
}

test("what a job changed, or its home, is counted in blocks and held against the limit", () => {
  writeFileSync(join(folder, "job/view/f"), new Uint8Array(3 * MIB).fill(1));
  expect(lookUntilCounted(createDiskLook(watched(2 * MIB)))).toMatchObject({
    what: "changes",
    most: 2 * MIB,
  });
  expect(lookUntilCounted(createDiskLook(watched(4 * MIB)))).toBeNull();
  writeFileSync(join(folder, "home/u/f"), new Uint8Array(5 * MIB).fill(1));
  expect(lookUntilCounted(createDiskLook(watched(4 * MIB)))).toMatchObject({ what: "home", most: 4 * MIB });
});

test("a sparse file counts for what it takes, and a copy for what it has more than its original", () => {
  writeFileSync(join(folder, "job/view/sparse"), "");
  truncateSync(join(folder, "job/view/sparse"), 1000 * MIB);
  expect(lookUntilCounted(createDiskLook(watched(MIB)))).toBeNull();
  for (const at of ["ws/f", "job/view/f"]) writeFileSync(join(folder, at), new Uint8Array(3 * MIB).fill(1));
  expect(lookUntilCounted(createDiskLook(watched(2 * MIB, true)))).toBeNull();
});

test("a folder that is taken away meanwhile ends nothing", () => {
  const look = createDiskLook(watched(MIB));
  rmSync(folder, { recursive: true });
  expect(lookUntilCounted(look)).toBeNull();
});
