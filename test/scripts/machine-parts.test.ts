import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  FULL_MACHINE,
  hashText,
  mergeRecord,
  mergeRun,
  NOT_RUN,
  type PartsRecord,
  readParts,
  readRecord,
  selectFiles,
  writeRecord,
} from "../../scripts/machine-parts.ts";

const root = join(import.meta.dir, "../..");
const known = (touches: readonly string[], { text = "", seconds = 1 } = {}) => ({
  ...{ hash: hashText(text), seconds, touches },
});
const RECORD: PartsRecord = {
  since: "2026-05-01",
  files: {
    "test/hostile/sandboxed.test.ts": known(["bwrap"]),
    "test/shells.test.ts": known(["zsh"]),
    ...Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`test/plain-${n}.test.ts`, known([])])),
  },
};
const FILES = Object.keys(RECORD.files);

function select(
  machine: string,
  { today = "2026-05-02", record = RECORD as PartsRecord | null, files = FILES, text = "" } = {},
) {
  return selectFiles(files, { machine, today, record: record ?? undefined, readText: () => text });
}
/** How many of thirty days a file runs that the record knows with this text. */
function countDays(
  machine: string,
  file: string,
  { touches = [] as readonly string[], text = "", seconds = 1 } = {},
) {
  const record = { ...RECORD, files: { ...RECORD.files, [file]: known(touches, { text, seconds }) } };
  return days.filter((today) => select(machine, { today, record, files: [file], text }).files.length === 1)
    .length;
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
  const counts = (machine: string) =>
    [["bwrap"], ["zsh"]].map((touches) => countDays(machine, "test/hostile/sandboxed.test.ts", { touches }));
  expect(counts("bare")).toEqual([10, 10]);
  expect(counts("root")).toEqual([10, 3]);
  expect(counts("no-namespaces")).toEqual([10, 3]);
  expect(counts("one that is new")).toEqual([10, 10]);
});

test("the rest takes turns: about a tenth a day, the same all day, and each file once in ten days", () => {
  const drawn = (today: string) => select("root", { today }).files.filter(isPlain);
  for (const day of days) expect(drawn(day).length).toBeWithin(10, 31);
  expect(drawn("2026-05-02")).toEqual(drawn("2026-05-02"));
  expect(drawn("2026-05-02")).not.toEqual(drawn("2026-05-03"));
  expect(days.slice(0, 10).flatMap(drawn).sort()).toEqual(FILES.filter(isPlain).sort());
});

const MACHINES = ["bare", "root", "no-namespaces"];

test("a file that touches no more than every job is one of the others, unless it is about the sandbox or the machine", () => {
  const counts = (file: string, text = "") =>
    MACHINES.map((machine) => countDays(machine, file, { touches: ["bwrap", "mount", "uid"], text }));
  expect(counts("test/e2e/job.test.ts")).toEqual([3, 3, 3]);
  expect(counts("test/hostile/escape.test.ts")).toEqual([10, 10, 10]);
  expect(counts("test/e2e/job.test.ts", "process.getuid()")).toEqual([3, 10, 3]);
  expect(counts("test/root/owner.test.ts")).toEqual([30, 30, 30]);
  expect(counts("test/faults/useless-bubblewrap.test.ts")).toEqual([30, 30, 30]);
  expect(counts("test/rooted.test.ts")).toEqual([3, 3, 3]);
});

test("where a part is missing or useless, a file that requires it is only skipped, and is one of the others", () => {
  const counts = (text: string) =>
    ["bare", "root"].map((machine) => countDays(machine, "test/search.test.ts", { touches: ["zsh"], text }));
  expect(counts("")).toEqual([10, 3]);
  expect(counts('requirePart("zsh")')).toEqual([3, 3]);
});

test("a file that names a part or a right in its own text runs where that differs, regardless of the record", () => {
  const count = (machine: string, text: string) => countDays(machine, "test/plain.test.ts", { text });
  expect(count("root", 'describe.if(requirePart("zsh"))')).toBe(3);
  expect(count("root", "process.getuid()")).toBe(10);
  for (const machine of ["bare", "no-namespaces"]) expect(count(machine, "process.getuid()")).toBe(3);
});

test("a mode runs as root where it takes a right from the owner, or gives the power of another", () => {
  const isRun = (text: string) => countDays("root", "test/plain.test.ts", { text }) === 10;
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

test("a costly file has its turn a sixth as often on the full machine, a quarter as often on the others", () => {
  const counts = (file: string, seconds: number) =>
    [FULL_MACHINE, "root"].map((machine) => countDays(machine, file, { touches: ["bwrap"], seconds }));
  expect(counts("test/e2e/job.test.ts", 1.9)).toEqual([30, 3]);
  const [onFull, asRoot] = counts("test/root/owner.test.ts", 2);
  expect(onFull).toBe(5);
  expect(asRoot).toBeWithin(7, 9);
});

const anyFile = fc.record({
  folder: fc.constantFrom("root", "hostile", "e2e", "domain"),
  seconds: fc.double({ min: 0, max: 60, noNaN: true }),
  touches: fc.subarray(["bwrap", "zsh", "uid", "cgroup"]),
  /** What the record does not say of it. */
  fate: fc.constantFrom("recorded", "recorded", "recorded", "new", "traced", "changed"),
});
const anyTree = fc.record({
  machine: fc.constantFrom(FULL_MACHINE, ...MACHINES),
  files: fc.array(anyFile, { maxLength: 80 }),
});
type Tree = typeof anyTree extends fc.Arbitrary<infer Value> ? Value : never;

/** What runs on each of so many days. */
function drawDays({ machine, files }: Tree, count: number, isWhole = false) {
  const named = files.map((file, n) => ({ ...file, name: `test/${file.folder}/${n}.test.ts` }));
  const recorded = named.filter(({ fate }) => fate !== "new");
  const record = {
    since: "2026-05-01",
    files: Object.fromEntries(
      recorded.map((file) => {
        const entry = known(file.touches, file);
        return [file.name, file.fate === "traced" ? { ...entry, hash: NOT_RUN } : entry];
      }),
    ),
  };
  const changed = new Set(named.filter(({ fate }) => fate === "changed").map(({ name }) => name));
  const given = {
    ...{ machine, record, isWhole },
    readText: (file: string) => (changed.has(file) ? "changed" : ""),
  };
  const all = named.map(({ name }) => name);
  const runs = Array.from({ length: count }, (_, day) =>
    selectFiles(all, { ...given, today: new Date(Date.UTC(2026, 4, 1 + day)).toISOString().slice(0, 10) }),
  );
  return { named, runs };
}

test("within the life of a record every file has its turn, and one that is new or changed runs every day", () => {
  fc.assert(
    fc.property(anyTree, fc.boolean(), (tree, isWhole) => {
      const { named, runs } = drawDays(tree, 40, isWhole);
      for (const { name, fate, seconds } of named) {
        const count = runs.filter(({ files }) => files.includes(name)).length;
        const hasTurn = fate === "changed" && seconds >= 2 && tree.machine !== FULL_MACHINE && !isWhole;
        if (fate === "recorded" || hasTurn) expect(count).toBeGreaterThan(0);
        else expect(count).toBe(40);
      }
    }),
    { numRuns: 60 },
  );
});

test("changed files that cost little run everywhere, costly ones for forty seconds, and all of them in a whole run", () => {
  const costs = [1, 1, 15, 4, 20, 90];
  const files: Tree["files"] = costs.map((seconds) => ({
    folder: "e2e",
    fate: "changed",
    ...{ seconds, touches: [] },
  }));
  const costsOf = (machine: string, isWhole = false) => {
    const { named, runs } = drawDays({ machine, files }, 40, isWhole);
    return named
      .filter(({ name }) => runs.every((run) => run.files.includes(name)))
      .map(({ seconds }) => seconds);
  };
  for (const machine of MACHINES) {
    expect(costsOf(machine)).toEqual([1, 1, 15, 4, 20]);
    expect(costsOf(machine, true)).toEqual(costs);
  }
  expect(costsOf(FULL_MACHINE)).toEqual(costs);
});

test("a file keeps its day when others enter or leave the record", () => {
  fc.assert(
    fc.property(anyTree, fc.nat({ max: 80 }), (tree, kept) => {
      const files = tree.files.map((file) => ({ ...file, fate: "recorded" as const }));
      const few = drawDays({ ...tree, files: files.slice(0, kept) }, 4);
      const names = few.named.map(({ name }) => name);
      const { runs } = drawDays({ ...tree, files }, 4);
      expect(runs.map((run) => run.files.filter((file) => names.includes(file)))).toEqual(
        few.runs.map((run) => [...run.files]),
      );
    }),
    { numRuns: 60 },
  );
});

test("the log says what was selected and what is left to other days", () => {
  const files = { ...RECORD.files, "test/slow.test.ts": known([], { seconds: 30 }) };
  const all = [...Object.keys(files), "test/new.test.ts"];
  const lines = days
    .slice(0, 6)
    .map((today) => select(FULL_MACHINE, { today, record: { ...RECORD, files }, files: all }).why);
  const left = (count: number, share: number) =>
    `${204 - count} of 204 files: 1 new or changed, 202 of every day, ${share} of the 1 that run every 6 days; ${count} are left to other days (npm test, or PICOCLAW_TEST_WHOLE=1 .ci/run, runs all)`;
  expect(lines.sort()).toEqual([...Array(5).fill(left(1, 0)), left(0, 1)]);
});

test("every file runs that the record does not know, and every file where the record is missing or old", () => {
  const files = [...FILES, "test/new.test.ts"];
  expect(select("root", { files }).files).toContain("test/new.test.ts");
  expect(select("root", { files, record: null }).files).toEqual(files);
  expect(select("root", { files, today: "2026-06-15" }).files.length).toBeLessThan(60);
  const old = select("root", { files, today: "2026-06-16" });
  expect(old).toEqual({ files, why: expect.stringContaining("2026-05-01 (npm run record -- test)") });
  expect(select("root", { files, record: { ...RECORD, since: "no day" } }).files).toEqual(files);
});

test("a record of some files keeps the facts about the others, and its age", () => {
  const found = { "test/b.test.ts": known(["zsh"], { seconds: 7.5 }), "test/a.test.ts": known([]) };
  const earlier = {
    since: "2026-01-01",
    files: { "test/gone.test.ts": known([]), "test/c.test.ts": known(["rg", "zsh"]) },
  };
  const merged = mergeRecord(earlier, found, {
    files: ["test/a.test.ts", "test/b.test.ts", "test/c.test.ts"],
    today: "2026-05-01",
  });
  expect(Object.entries(merged.files)).toEqual([
    ["test/a.test.ts", known([])],
    ["test/b.test.ts", known(["zsh"], { seconds: 7.5 })],
    ["test/c.test.ts", known(["rg", "zsh"])],
  ]);
  expect(merged.since).toBe("2026-01-01");
  const whole = { files: Object.keys(found), today: "2026-05-01" };
  expect(mergeRecord(earlier, found, whole).since).toBe("2026-05-01");
  // An ordinary user cannot record root's tests.
  const root = "test/root/owner.test.ts";
  const ofRoot = { since: "2026-01-01", files: { [root]: known([]) } };
  expect(mergeRecord(ofRoot, found, { ...whole, files: [root] }).since).toBe("2026-05-01");
  expect(readRecord(writeRecord(merged))).toEqual(merged);
});

test("a run changes the hashes and costs of the files that the record knows, and nothing else", () => {
  const ran = { hash: hashText("changed"), seconds: 12.5 };
  expect(mergeRun(RECORD, { "test/shells.test.ts": ran, "test/new.test.ts": ran })).toEqual({
    ...RECORD,
    files: { ...RECORD.files, "test/shells.test.ts": { ...ran, touches: ["zsh"] } },
  });
  const costOf = (before: number, now: number) => {
    const files = { "test/a.test.ts": known([], { seconds: before }) };
    return mergeRun({ ...RECORD, files }, { "test/a.test.ts": { ...ran, seconds: now } }).files[
      "test/a.test.ts"
    ];
  };
  for (const now of [16, 24]) expect(costOf(20, now)).toEqual({ ...ran, seconds: 20, touches: [] });
  for (const now of [14, 26]) expect(costOf(20, now)).toEqual({ ...ran, seconds: now, touches: [] });
  expect([costOf(0.2, 1.1)?.seconds, costOf(0.2, 1.3)?.seconds]).toEqual([0.2, 1.3]);
});

test("the record in the tree knows most of the test files and selects few of them", () => {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts") && !path.startsWith("root/"))
    .map((path) => `test/${path}`);
  const record = readRecord(readFileSync(join(root, "test/machine-parts.json"), "utf8"));
  const unknown = files.filter((file) => !(file in record.files));
  // A file that was added since is run on every machine until the next record.
  expect(unknown.length).toBeLessThan(files.length / 5);
  const entries = Object.values(record.files);
  expect(entries.some(({ touches }) => touches.includes("bwrap"))).toBe(true);
  expect(entries.every(({ hash, seconds }) => hash !== "" && seconds >= 0)).toBe(true);
  const readText = (file: string) => readFileSync(join(root, file), "utf8");
  // As if none had changed.
  const current = files.flatMap((file) => {
    const entry = record.files[file];
    return entry === undefined ? [] : [[file, { ...entry, hash: hashText(readText(file)) }]];
  });
  const given = {
    ...{ machine: "no-namespaces", today: record.since, readText },
    record: { ...record, files: Object.fromEntries(current) },
  };
  expect(selectFiles(files, given).files.length).toBeLessThan(files.length / 2);
});
