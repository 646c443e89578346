/** Plans and records of jobs, which are written and read line by line. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createJobFolder,
  DamagedRecord,
  type Op,
  openSwapRecord,
  planFile,
  readPlan,
  readSwapRecord,
  swapRecordPath,
  writePlan,
} from "../../../src/infrastructure/jobs/job-folder.ts";
import { Identity, sameUntouched } from "../../../src/infrastructure/platform/entry-identity.ts";

const storage = mkdtempSync(join(tmpdir(), "picoclaw-plans-"));
afterAll(() => rmSync(storage, { recursive: true }));

const written = (ino: string, mtime = "1700000000000000001", ctime = "1700000000000000002") =>
  ({ kind: "file", ino, mode: 0o644, size: 3, mtime, ctime, uid: 0, gid: 0 }) as const;
const entry = (ino: number) => Identity.read(written(String(ino)));

/** Longer than the pieces in which a file is read, with characters of several bytes across their ends. */
const PATHS = ["a", "", "日本語".repeat(60_000), "b/c", "ü".repeat(131_071), "z"];
const ops: Op[] = PATHS.map((path, n) => ({ n, root: 0, path, a: null, b: entry(n), area: "file" }));

test("a plan is read as it was written, however long its lines are", () => {
  const folder = createJobFolder(storage, "job_1");
  const plan = { roots: ["/w"], stamp: "1", ops, folders: [{ root: 0, path: "b", ino: "7" }] };
  writePlan(folder, plan);
  expect(readPlan(folder)).toEqual(plan);
  expect(readdirSync(folder.path).sort()).toEqual(["plan.ndjson", "slots"]);
});

test("so is the record of a swap, which is not there before it is finished", () => {
  const folder = createJobFolder(storage, "job_2");
  const around = [{ ino: "1", before: null, after: "2" }];
  const record = openSwapRecord(folder, 1, { stamp: "3", swaps: [1, 2], around, roots: ["/w"] });
  for (let n = 0; n < 3_000; n += 1)
    record.add({ ...(ops[0] as Op), n }, { standing: entry(n), kept: n % 2 === 0 ? null : entry(n) });
  expect(readSwapRecord(folder, 1)).toBeNull();
  record.finish();
  const read = readSwapRecord(folder, 1);
  expect({ ...read, entries: read?.entries.size }).toEqual({
    stamp: "3",
    swaps: [1, 2],
    around,
    entries: 3_000,
  });
  expect(read?.entries.get(2_999)).toEqual({ standing: entry(2_999), kept: entry(2_999) });
});

test("a changed digit and a removed line anywhere in a long record are damage", () => {
  const folder = createJobFolder(storage, "job_4");
  const many = Array.from({ length: 3_000 }, (_, n) => ({ ...(ops[0] as Op), n, b: entry(n) }));
  writePlan(folder, { roots: ["/w"], stamp: "1", ops: many });
  const record = openSwapRecord(folder, 1, { stamp: "1", swaps: [1], around: [], roots: ["/w"] });
  for (const op of many) record.add(op, { standing: op.b, kept: null });
  record.finish();
  const change = (line: string) => line.replace(/\b420\b/, "421");
  for (const [file, read, hands] of [
    [planFile(folder), () => readPlan(folder), [change]],
    [swapRecordPath(folder, 1), () => readSwapRecord(folder, 1), [change, () => null]],
  ] as const) {
    const lines = readFileSync(file, "utf8").split("\n");
    expect(lines.join("\n").length).toBeGreaterThan(256 * 1024);
    expect(read).not.toThrow();
    for (const hand of hands)
      for (const at of [1, 2_999]) {
        const damaged = lines.flatMap((line, n) => (n === at ? (hand(line) ?? []) : line));
        expect(damaged).not.toEqual(lines);
        writeFileSync(file, damaged.join("\n"));
        expect(read).toThrow(DamagedRecord);
      }
  }
});

test("plans of earlier versions are read, with a sum a line and without sums", () => {
  const folder = createJobFolder(storage, "job_3");
  const lines = [
    '{"v":2,"roots":["/w"],"stamp":"1","folders":[],"count":1,"sum":"f3a7b8fe"}',
    '{"n":0,"root":0,"path":"a","a":null,"b":{"kind":"file","ino":"7","mode":420,"size":3,"mtime":"1700000000000000001","ctime":"1700000000000000002","uid":0,"gid":0},"area":"file","inPlace":true,"sum":"3958e463"}',
  ];
  const op: Op = { n: 0, root: 0, path: "a", a: null, b: entry(7), area: "file", inPlace: true };
  const file = planFile(folder);
  writeFileSync(file, `${lines.join("\n")}\n`);
  expect(readPlan(folder)).toEqual({ roots: ["/w"], stamp: "1", folders: [], ops: [op] });
  writeFileSync(file, `${lines.join("\n").replace('"mode":420', '"mode":421')}\n`);
  expect(() => readPlan(folder)).toThrow(DamagedRecord);
  writeFileSync(file, `${lines.map((line) => line.replace(/"v":2,|,"sum":"\w+"/g, "")).join("\n")}\n`);
  expect(readPlan(folder)).toEqual({ roots: ["/w"], stamp: "1", folders: [], ops: [op] });
});

const TIMES = [
  "0",
  "1",
  "-1",
  "-1500000000",
  "-86400000000000",
  "999999999",
  "1000000000",
  "981173106000000007",
  "1700000000000000000",
  "1700000000999999999",
  "15032385535999999999",
];
const INODES = ["0", "7", "9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551615"];

test("an entry is written to disk and read back exactly, with any time and any inode", () => {
  const all = TIMES.flatMap((time) =>
    INODES.map((ino) => written(ino, time, TIMES[TIMES.length - 1 - TIMES.indexOf(time)])),
  );
  expect(JSON.parse(JSON.stringify(all.map(Identity.read)))).toEqual(all);
  for (const one of all)
    expect(all.filter((other) => sameUntouched(Identity.read(one), Identity.read(other)))).toEqual([one]);
});
