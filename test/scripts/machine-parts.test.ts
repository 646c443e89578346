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

test("a machine runs the files that touch a part in which it differs", () => {
  const selected = (machine: string) => select(machine).files.filter((file) => !isPlain(file));
  expect(selected("bare")).toEqual(["test/hostile/sandboxed.test.ts", "test/shells.test.ts"]);
  expect(selected("root")).toEqual(["test/hostile/sandboxed.test.ts"]);
  expect(selected("no-namespaces")).toEqual(["test/hostile/sandboxed.test.ts"]);
  expect(selected("one that is new")).toEqual(selected("bare"));
});

const days = Array.from({ length: 20 }, (_, day) => `2026-05-${String(day + 1).padStart(2, "0")}`);

test("the rest takes turns: about a tenth a day, the same all day, and each file once in ten days", () => {
  const drawn = (today: string) => select("root", { today }).files.filter(isPlain);
  for (const day of days) expect(drawn(day).length).toBeWithin(5, 45);
  expect(drawn("2026-05-02")).toEqual(drawn("2026-05-02"));
  expect(drawn("2026-05-02")).not.toEqual(drawn("2026-05-03"));
  expect(days.slice(0, 10).flatMap(drawn).sort()).toEqual(FILES.filter(isPlain).sort());
});

test("a file that touches what every job touches takes turns of four days, unless it is about the sandbox", () => {
  const machines = ["bare", "root", "no-namespaces"];
  const counts = (file: string, text = "") =>
    machines.map((machine) => {
      const record = { ...RECORD, touches: { [file]: ["bwrap", "mount", "uid"] } };
      const isDrawn = (today: string) =>
        select(machine, { today, record, files: [file], text }).files.length === 1;
      return days.filter(isDrawn).length;
    });
  expect(counts("test/e2e/job.test.ts")).toEqual([5, 5, 5]);
  expect(counts("test/hostile/escape.test.ts")).toEqual([20, 20, 20]);
  // Where bubblewrap is missing or useless, what requires it is only skipped.
  expect(counts("test/hostile/escape.test.ts", 'requirePart("bwrap")')).toEqual([5, 20, 5]);
  expect(counts("test/e2e/job.test.ts", "process.getuid()")).toEqual([5, 20, 5]);
});

test("a file that names a part or a right in its own text runs where that differs, regardless of the record", () => {
  const files = ["test/plain-1.test.ts"];
  const day = ["2026-05-02", "2026-05-03"].find(
    (today) => select("root", { files, today }).files.length === 0,
  );
  const selected = (machine: string, text: string) => select(machine, { files, text, today: day }).files;
  expect(selected("root", 'describe.if(requirePart("zsh"))')).toEqual([]);
  expect(selected("root", "process.getuid()")).toEqual(files);
  for (const machine of ["bare", "no-namespaces"]) expect(selected(machine, "process.getuid()")).toEqual([]);
});

test("a mode runs as root where it takes a right from the owner, or gives the power of another", () => {
  const isRun = (text: string) =>
    days.every(
      (today) => select("root", { files: ["test/plain-1.test.ts"], text, today }).files.length === 1,
    );
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
