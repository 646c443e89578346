import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-again-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ALWAYS = `import { expect, test } from "bun:test";\ntest("holds", () => expect(1).toBe(1));\n`;
const NEVER = `import { expect, test } from "bun:test";\ntest("fails", () => expect(1).toBe(2));\n`;
const ONCE = `import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
test("fails once", () => {
  const isSecond = existsSync(import.meta.path + ".seen");
  writeFileSync(import.meta.path + ".seen", "");
  expect(isSecond).toBe(true);
});
`;

function run(sources: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const files = sources.map((source, at) => {
    const path = join(mkdtempSync(join(folder, "case-")), `${at}.test.ts`);
    writeFileSync(path, source);
    return path;
  });
  const { exitCode, stdout } = Bun.spawnSync(
    [process.execPath, "--no-env-file", join(import.meta.dir, "../../scripts/test.ts"), ...files],
    { env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, ...env } },
  );
  return { exitCode, lines: stdout.toString().trimEnd().split("\n") };
}

test("a file that failed beside others and passes alone is reported as unsteady, and passed", () => {
  const { exitCode, lines } = run([ALWAYS, ONCE]);
  expect(lines.filter((line) => line.startsWith("unsteady: "))).toEqual([
    expect.stringContaining("(failed beside other tests, passes alone)"),
  ]);
  expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 0, last: "2 passed, 0 failed" });
});

test("by night once is enough", () => {
  const { exitCode, lines } = run([ALWAYS, ONCE], { PICOCLAW_TEST_NIGHTLY: "1" });
  expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 1, last: "1 passed, 1 failed" });
});

test("a file that fails alone too has failed", () => {
  const { exitCode, lines } = run([ALWAYS, NEVER]);
  expect({ exitCode, last: lines.at(-1) }).toEqual({ exitCode: 1, last: "1 passed, 1 failed" });
});

test("one file by itself, and many that fail, are not run again", () => {
  expect(run([ONCE]).lines.at(-1)).toBe("0 passed, 1 failed");
  expect(run(Array(9).fill(ONCE)).lines.at(-1)).toBe("0 passed, 9 failed");
});

test("what a file left behind once is looked for again, and a part whose runner died runs again", () => {
  const once = (what: string) => ONCE.replace("expect(isSecond).toBe(true);", `if (!isSecond) ${what};`);
  for (const source of [
    once('Bun.spawn(["sleep", "30"]).unref()'),
    once('process.kill(process.pid, "SIGKILL")'),
  ]) {
    const { exitCode, lines } = run([ALWAYS, source]);
    expect(lines.filter((line) => line.startsWith("unsteady: "))).toHaveLength(1);
    expect(exitCode).toBe(0);
    expect(lines.at(-1)).toEndWith(" passed, 0 failed");
  }
});
