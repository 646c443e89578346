import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  mergeRecord,
  type PartsRecord,
  readParts,
  readRecord,
  selectFiles,
  writeRecord,
} from "../../scripts/machine-parts.ts";

const root = join(import.meta.dir, "../..");
const RECORD: PartsRecord = {
  since: "2026-05-01",
  touches: {
    "test/hostile/sandboxed.test.ts": ["bwrap"],
    "test/shells.test.ts": ["zsh"],
    ...Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`test/plain-${n}.test.ts`, []])),
  },
};
const FILES = Object.keys(RECORD.touches);

function select(
  machine: string,
  { today = "2026-05-02", record = RECORD as PartsRecord | null, files = FILES, text = "" } = {},
) {
  return selectFiles(files, { machine, today, record: record ?? undefined, readText: () => text });
}
const isPlain = (file: string) => file.includes("plain");

test("a trace names the parts that a file touches", () => {
  const trace = [
    '101 execve("/usr/bin/bwrap", ["bwrap", "--version"], 0x7ffc /* 9 vars */) = 0',
    '102 execve("/usr/local/bin/rg", ["rg"], 0x7ffc /* 9 vars */) = -1 ENOENT (No such file or directory)',
    '102 execve("/bin/sh", ["sh", "-c", "echo bwrap"], 0x7ffc /* 9 vars */) = 0',
    '103 mkdir("/sys/fs/cgroup/pids/picoclaw-1", 0777) = -1 EACCES (Permission denied)',
    '103 mkdir("/tmp/x", 0777) = 0',
    "104 landlock_restrict_self(5, 0)            = 0",
    "104 <... execve resumed>) = 0",
    "104 +++ exited with 0 +++",
  ].join("\n");
  expect(readParts(trace)).toEqual(["bwrap", "cgroup", "landlock", "rg"]);
  expect(readParts("")).toEqual([]);
});

const days = Array.from({ length: 30 }, (_, day) => `2026-05-${String(day + 1).padStart(2, "0")}`);

test("a machine runs a third of the files that touch a part in which it differs, another third each day", () => {
  const daysOf = (machine: string, file: string) =>
    days.filter((today) => select(machine, { today }).files.includes(file)).length;
  const counts = (machine: string) =>
    ["test/hostile/sandboxed.test.ts", "test/shells.test.ts"].map((file) => daysOf(machine, file));
  expect(counts("bare")).toEqual([10, 10]);
  expect(counts("root")).toEqual([10, 3]);
  expect(counts("no-namespaces")).toEqual([10, 3]);
  expect(counts("one that is new")).toEqual([10, 10]);
});

test("the rest takes turns: about a tenth a day, the same all day, and each file once in ten days", () => {
  const drawn = (today: string) => select("root", { today }).files.filter(isPlain);
  for (const day of days) expect(drawn(day).length).toBeWithin(5, 45);
  expect(drawn("2026-05-02")).toEqual(drawn("2026-05-02"));
  expect(drawn("2026-05-02")).not.toEqual(drawn("2026-05-03"));
  expect(days.slice(0, 10).flatMap(drawn).sort()).toEqual(FILES.filter(isPlain).sort());
});

test("a file that touches no more than every job is one of the others, unless it is about the sandbox or the machine", () => {
  const machines = ["bare", "root", "no-namespaces"];
  const counts = (file: string, text = "") =>
    machines.map((machine) => {
      const record = { ...RECORD, touches: { [file]: ["bwrap", "mount", "uid"] } };
      const isDrawn = (today: string) =>
        select(machine, { today, record, files: [file], text }).files.length === 1;
      return days.filter(isDrawn).length;
    });
  expect(counts("test/e2e/job.test.ts")).toEqual([3, 3, 3]);
  expect(counts("test/hostile/escape.test.ts")).toEqual([10, 10, 10]);
  expect(counts("test/e2e/job.test.ts", "process.getuid()")).toEqual([3, 10, 3]);
  expect(counts("test/root/owner.test.ts")).toEqual([30, 30, 30]);
  expect(counts("test/faults/useless-bubblewrap.test.ts")).toEqual([30, 30, 30]);
  expect(counts("test/rooted.test.ts")).toEqual([3, 3, 3]);
});

test("where a part is missing or useless, a file that requires it is only skipped, and is one of the others", () => {
  const record = { ...RECORD, touches: { "test/search.test.ts": ["zsh"] } };
  const counts = (text: string) =>
    ["bare", "root"].map(
      (machine) =>
        days.filter(
          (today) => select(machine, { today, record, files: ["test/search.test.ts"], text }).files.length,
        ).length,
    );
  expect(counts("")).toEqual([10, 3]);
  expect(counts('requirePart("zsh")')).toEqual([3, 3]);
});

test("a file that names a part or a right in its own text runs where that differs, regardless of the record", () => {
  const files = ["test/plain-1.test.ts"];
  const count = (machine: string, text: string) =>
    days.filter((today) => select(machine, { files, text, today }).files.length === 1).length;
  expect(count("root", 'describe.if(requirePart("zsh"))')).toBe(3);
  expect(count("root", "process.getuid()")).toBe(10);
  for (const machine of ["bare", "no-namespaces"]) expect(count(machine, "process.getuid()")).toBe(3);
});

test("a mode runs as root where it takes a right from the owner, or gives the power of another", () => {
  const isRun = (text: string) =>
    days.filter(
      (today) => select("root", { files: ["test/plain-1.test.ts"], text, today }).files.length === 1,
    ).length === 10;
  const taken = [
    'chmodSync(at("a"), 0)',
    "chmodSync(a, 0o555)",
    "chmod 0444 a",
    "chmod 0 ~",
    "chmod 555 a/b",
  ];
  for (const text of [...taken, "chmod 4755 a", "chmodSync(a, 0o6755)"])
    expect([text, isRun(text)]).toEqual([text, true]);
  const given = ["chmodSync(a, 0o755)", "chmod +x a", "chmod 600 f9; cat 0", "import { chmodSync } from"];
  for (const text of [...given, "chmodSync(a, 0o1777)", 'chmodSync(join(a, "python3"), 0o755)'])
    expect([text, isRun(text)]).toEqual([text, false]);
});

test("every file runs that the record does not know, and every file where the record is missing or old", () => {
  const files = [...FILES, "test/new.test.ts"];
  expect(select("root", { files }).files).toContain("test/new.test.ts");
  expect(select("root", { files, record: null }).files).toEqual(files);
  expect(select("root", { files, today: "2026-06-15" }).files.length).toBeLessThan(60);
  const old = select("root", { files, today: "2026-06-16" });
  expect(old).toEqual({ files, why: expect.stringContaining("2026-05-01 (npm run record)") });
  expect(select("root", { files, record: { ...RECORD, since: "no day" } }).files).toEqual(files);
});

test("a record of some files keeps the facts about the others, and its age", () => {
  const found = { "test/b.test.ts": ["zsh"], "test/a.test.ts": [] };
  const earlier = { since: "2026-01-01", touches: { "test/gone.test.ts": [], "test/c.test.ts": ["rg"] } };
  const merged = mergeRecord(earlier, found, {
    files: ["test/a.test.ts", "test/b.test.ts", "test/c.test.ts"],
    today: "2026-05-01",
  });
  expect(Object.entries(merged.touches)).toEqual([
    ["test/a.test.ts", []],
    ["test/b.test.ts", ["zsh"]],
    ["test/c.test.ts", ["rg"]],
  ]);
  expect(merged.since).toBe("2026-01-01");
  const whole = { files: Object.keys(found), today: "2026-05-01" };
  expect(mergeRecord(earlier, found, whole).since).toBe("2026-05-01");
  expect(readRecord(writeRecord(merged))).toEqual(merged);
});

test("the record in the tree knows most of the test files and selects few of them", () => {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts") && !path.startsWith("root/"))
    .map((path) => `test/${path}`);
  const record = readRecord(readFileSync(join(root, "test/machine-parts.json"), "utf8"));
  const unknown = files.filter((file) => !(file in record.touches));
  // A file that was added since is run on every machine until the next record.
  expect(unknown.length).toBeLessThan(files.length / 5);
  expect(Object.values(record.touches).some((parts) => parts.includes("bwrap"))).toBe(true);
  const readText = (file: string) => readFileSync(join(root, file), "utf8");
  const given = { machine: "no-namespaces", record, today: record.since, readText };
  expect(selectFiles(files, given).files.length).toBeLessThan(files.length / 2);
});
