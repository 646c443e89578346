/** Runners that write reports in the form of JUnit: their lines run in a real shell, with programs that stand in for the tools. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkResult } from "../../../src/application/checks/baseline.ts";
import { findChecks } from "../../../src/domain/checks/find-checks.ts";
import { failingOutput } from "../../../src/domain/checks/read-results.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-reports-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const report = (failure = "") =>
  `<testsuite name="p.SumTest"><testcase name="adds" classname="p.SumTest">${failure}</testcase></testsuite>`;
const FAILURE = '<failure message="expected: 3"/>';

/** The result of a project's tests, whose tools are these scripts. */
function run(names: readonly string[], tools: Readonly<Record<string, string>>) {
  const [check] = findChecks({ names, texts: {} }, null);
  if (check === undefined) throw new Error("no check");
  mkdirSync(join(folder, "bin"));
  mkdirSync(join(folder, "tmp"));
  for (const [name, text] of Object.entries(tools)) {
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, "bin", name), 0o755);
  }
  const env = { PATH: `${folder}/bin:${process.env.PATH}`, TMPDIR: join(folder, "tmp") };
  const ran = spawnSync("bash", ["-c", check.line], { cwd: folder, env, encoding: "utf8" });
  const whole = ran.stdout + ran.stderr;
  const { state, results, absent } = checkResult(check, { outcome: "exited", exitCode: ran.status, whole });
  return { state, absent, tests: [...(results?.tests ?? [])], shown: failingOutput(whole, 4000) };
}

/** Writes a report below the folder, and ends. */
const writes = (path: string, text: string, code: number) =>
  `mkdir -p "$(dirname "${path}")"; echo '${text}' > "${path}"; echo "said by the tool"; exit ${code}`;

const RUNNERS: readonly [string, string, (text: string, code: number) => Readonly<Record<string, string>>][] =
  [
    [
      "gradle",
      "build.gradle",
      (text, code) => ({ gradle: writes("core/build/test-results/test/TEST-a.xml", text, code) }),
    ],
    [
      "Maven",
      "pom.xml",
      (text, code) => ({ mvn: writes("core/target/surefire-reports/TEST-a.xml", text, code) }),
    ],
    [
      "Meson",
      "meson.build",
      (text, code) => ({
        meson: `[ "$1" = setup ] && exit 0\n${writes("$3/meson-logs/testlog.junit.xml", text, code)}`,
      }),
    ],
    [
      "ctest",
      "CMakeLists.txt",
      (text, code) => ({ cmake: "exit 0", ctest: `for last; do :; done\n${writes("$last", text, code)}` }),
    ],
  ];

describe.each(RUNNERS)("%s", (_, file, tools) => {
  test("names the tests of a green run, and those that fail", () => {
    const green = run([file], tools(report(), 0));
    expect(green).toMatchObject({ state: "green", tests: [["p.SumTest › adds", "pass"]] });
    expect(green.shown.trim()).toBe("said by the tool");
  });
  test("names the tests of a red run", () => {
    const red = run([file], tools(report(FAILURE), 1));
    expect(red).toMatchObject({ state: "red", tests: [["p.SumTest › adds", "fail"]] });
  });
  test("is unread if it is red without a failed test: some did not run", () => {
    expect(run([file], tools(report(), 1))).toMatchObject({ state: "red", tests: [] });
  });
  test("judges nothing if it is green without a test", () => {
    expect(run([file], tools("<testsuites/>", 0))).toMatchObject({ state: "cannot-run", tests: [] });
  });
});

test("reports of an earlier run are not those of code that does not compile", () => {
  mkdirSync(join(folder, "target/surefire-reports"), { recursive: true });
  writeFileSync(join(folder, "target/surefire-reports/TEST-a.xml"), report(FAILURE));
  expect(run(["pom.xml"], { mvn: "exit 1" })).toMatchObject({ state: "red", tests: [] });
});

test("what cannot be configured here says nothing of the code", () => {
  expect(run(["meson.build"], { meson: "exit 1" })).toMatchObject({ state: "cannot-run", tests: [] });
});

test("a program that is not there is named", () => {
  const tools = { meson: 'echo "bash: line 1: meson: command not found" >&2; exit 127' };
  expect(run(["meson.build"], tools)).toMatchObject({ state: "cannot-run", absent: "meson" });
});
