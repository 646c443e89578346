import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckRecord } from "../../../src/application/ports/checks.ts";
import { createCheckMemory } from "../../../src/infrastructure/checks/check-memory.ts";

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "picoclaw-checks-"));
  mkdirSync(join(top, "project/src"), { recursive: true });
  mkdirSync(join(top, "project/node_modules/a"), { recursive: true });
  mkdirSync(join(top, "project/.git"));
  writeFileSync(join(top, "project/src/a.js"), "one");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const memory = () => createCheckMemory({ home: join(top, "home"), root: join(top, "project") });
const project = (path: string) => join(top, "project", path);

const RECORD: CheckRecord = {
  lines: ["npm test"],
  fingerprint: "f",
  at: 5,
  durationMs: 7,
  wasEnded: false,
  results: [
    {
      kind: "test",
      command: "npm test",
      state: "red",
      results: {
        formats: ["tap"],
        listed: "all",
        tests: new Map([["a", "fail" as const]]),
        counts: { passed: 0, failed: 1, skipped: 0 },
      },
    },
    { kind: "lint", command: "npm run lint", state: "green", results: null },
  ],
};

test("kept results are recalled by another process, and are readable by the user alone", () => {
  expect(memory().recall()).toBe(null);
  memory().keep(RECORD);
  expect(memory().recall()).toEqual(RECORD);
  const [name] = readdirSync(join(top, "home/checks"));
  expect(statSync(join(top, "home/checks", name as string)).mode & 0o777).toBe(0o600);
  memory().keep({ ...RECORD, wasEnded: true, results: null });
  expect(memory().recall()).toEqual({ ...RECORD, wasEnded: true, results: null });
});

test("what cannot be read or written is not remembered", () => {
  memory().keep(RECORD);
  const [name] = readdirSync(join(top, "home/checks"));
  writeFileSync(join(top, "home/checks", name as string), '{"version":1');
  expect(memory().recall()).toBe(null);
  writeFileSync(join(top, "file"), "");
  const nowhere = createCheckMemory({ home: join(top, "file"), root: join(top, "project") });
  nowhere.keep(RECORD);
  expect(nowhere.recall()).toBe(null);
  expect(existsSync(join(top, "file/checks"))).toBe(false);
});

test("the fingerprint follows every change that a test could see", () => {
  const seen = [memory().fingerprint()];
  const after = (change: () => void) => {
    change();
    seen.push(memory().fingerprint());
  };
  after(() => writeFileSync(project("src/a.js"), "two!"));
  after(() => utimesSync(project("src/a.js"), 1, 1));
  after(() => chmodSync(project("src/a.js"), 0o700));
  after(() => writeFileSync(project("src/b.js"), ""));
  after(() => rmSync(project("src/b.js")));
  after(() => mkdirSync(project("src/empty")));
  after(() => mkdirSync(project("node_modules/b")));
  after(() => writeFileSync(project("node_modules/.package-lock.json"), "{}"));
  // A file that came and went leaves the same files; everything else differs.
  expect(new Set(seen).size).toBe(seen.length - 1);
  expect(seen[5]).toBe(seen[3] as string);
});

test("the fingerprint stays where nothing changed, and with what git does for itself", () => {
  const before = memory().fingerprint();
  writeFileSync(project(".git/index"), "x");
  writeFileSync(project("node_modules/a/cache"), "x");
  expect(memory().fingerprint()).toBe(before);
});
