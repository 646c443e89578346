/** The packed stats tell of every entry what the runtime's own do. */
import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type EntryStats,
  lstatEntry,
  toEntryStats,
} from "../../../src/infrastructure/platform/entry-stats.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-stats-"));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
writeFileSync(at("file"), "12345");
linkSync(at("file"), at("other name"));
mkdirSync(at("folder"), { mode: 0o2750 });
symlinkSync("nowhere", at("link"));
lutimesSync(at("link"), 1.25, 2.5);
spawnSync("mkfifo", [at("fifo")]);
writeFileSync(at("日本語 ü"), "x");
writeFileSync(at("before 1970"), "x");
utimesSync(at("before 1970"), -12.75, -12.75);
writeFileSync(at("sparse"), "");
truncateSync(at("sparse"), 5 * 1024 ** 3);

/** After many, the system is asked itself. */
for (let n = 0; n < 300; n += 1) lstatEntry(folder);

const told = (stats: EntryStats | undefined) =>
  stats && {
    mode: stats.mode,
    permissions: stats.permissions,
    nlink: stats.nlink,
    owner: [stats.uid, stats.gid],
    size: stats.size,
    blocks: stats.blocks,
    device: [stats.dev, stats.rdev],
    ino: stats.ino,
    times: [stats.mtime, stats.ctime],
    nanoseconds: [stats.mtimeNs, stats.ctimeNs],
    kinds: [stats.isFile(), stats.isDirectory(), stats.isSymbolicLink(), stats.isCharacterDevice()],
  };

test.each([
  ...["file", "other name", "folder", "link", "fifo", "日本語 ü", "before 1970", "sparse"].map(at),
  "/",
  "/dev/null",
  "/proc/self",
  "/proc/self/status",
])("of %s", (path) => {
  const known = lstatSync(path, { bigint: true });
  const asked = told(lstatEntry(path));
  expect(asked).toEqual(told(toEntryStats(known)));
  expect(asked).toMatchObject({
    ino: String(known.ino),
    times: [String(known.mtimeNs), String(known.ctimeNs)],
  });
});

test("nothing is undefined, and other failures have their code", () => {
  const codeOf = (path: string) => {
    try {
      return lstatEntry(path) ?? "nothing";
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };
  expect(codeOf(at("missing"))).toBe("nothing");
  expect(codeOf(at("file/below"))).toBe("nothing");
  expect(codeOf(at("n".repeat(300)))).toBe("ENAMETOOLONG");
  expect(codeOf(`/${"long/".repeat(2_000)}`)).toBe("ENAMETOOLONG");
  expect(() => lstatEntry(`${at("file")}\0`)).toThrow();
});

test("a name that is not UTF-8 is asked for by its bytes", () => {
  const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(name, "x");
  expect(lstatEntry(name)?.isFile()).toBe(true);
});
