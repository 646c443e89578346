/** The step of the GitHub Action, run as the runner runs it: an event file, inputs as variables, files for outputs and the summary. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";

const root = join(import.meta.dir, "../..");
const action = parse(readFileSync(join(root, "action/action.yml"), "utf8"));
const URL = "https://github.com/acme/calc/issues/7";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-action-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Only the variables that action.yml names, and those of the runner. */
function run(event: object, options: { readonly program?: string; readonly candidates?: string } = {}) {
  const step = action.runs.steps.find((one: { id?: string }) => one.id === "solve");
  const inputs: Record<string, string> = {
    label: action.inputs.label.default,
    token: "t0ken",
    candidates: options.candidates ?? action.inputs.candidates.default,
    program: options.program ?? "",
  };
  const given = Object.entries(step.env as Record<string, string>).map(([name, value]) => [
    name,
    value.replace(/\$\{\{ inputs\.(\w+) \}\}/, (_, input: string) => inputs[input] ?? ""),
  ]);
  for (const file of ["output", "summary"]) writeFileSync(join(folder, file), "");
  writeFileSync(join(folder, "event.json"), JSON.stringify(event));
  const ran = spawnSync("bash", ["-c", step.run], {
    cwd: folder,
    encoding: "utf8",
    env: {
      ...Object.fromEntries(given),
      PATH: process.env.PATH ?? "",
      HOME: folder,
      LANG: "en_US.UTF-8",
      GITHUB_ACTION_PATH: join(root, "action"),
      GITHUB_EVENT_PATH: join(folder, "event.json"),
      GITHUB_OUTPUT: join(folder, "output"),
      GITHUB_STEP_SUMMARY: join(folder, "summary"),
    },
  });
  return { ...ran, outputs: readFileSync(join(folder, "output"), "utf8") };
}

const labelled = (name: string, url = URL) => ({
  action: "labeled",
  label: { name },
  issue: { html_url: url },
});

/** A program that writes down how it was called and answers like `solve --json`. */
function standIn(answer: object, code = 0): string {
  const program = join(folder, "picoclaw");
  const lines = [
    `printf '%s\\n' "$@" "$GITHUB_PERSONAL_ACCESS_TOKEN" >${folder}/called`,
    `printf '%s' '${JSON.stringify(answer)}'`,
    `exit ${code}`,
  ];
  writeFileSync(program, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
  return program;
}

test("the label starts solve with the issue's address and the token; its end is handed on", () => {
  const pull = "https://github.com/acme/calc/pull/8";
  const program = standIn({ state: "done", pull_url: pull });
  const { status, outputs } = run(labelled("picoclaw"), { program, candidates: "3" });
  expect([status, outputs]).toEqual([0, `state=done\npull-request=${pull}\n`]);
  const called = ["solve", "--json", "--candidates", "3", "--", URL, "t0ken", ""];
  expect(readFileSync(join(folder, "called"), "utf8").split("\n")).toEqual(called);
  expect(readFileSync(join(folder, "summary"), "utf8")).toBe(`PicoClaw: done, ${pull}\n`);
});

test.each([
  ["another label", labelled("bug")],
  ["a label taken away", { ...labelled("picoclaw"), action: "unlabeled" }],
  ["a pull request's label", { action: "labeled", label: { name: "picoclaw" }, pull_request: {} }],
])("%s starts nothing", (_, event) => {
  const { status, outputs } = run(event, { program: standIn({ state: "done" }) });
  expect([status, outputs]).toEqual([0, "state=skipped\npull-request=\n"]);
  expect(existsSync(join(folder, "called"))).toBe(false);
});

test("a red end fails the step and says why", () => {
  const program = standIn({ state: "failed", pull_url: null, failure: { message: "2 tests fail" } }, 1);
  const { status, outputs, stderr } = run(labelled("picoclaw"), { program });
  expect([status, outputs, stderr]).toEqual([1, "state=failed\npull-request=\n", "2 tests fail\n"]);
});

test("the event's words are not run as commands, and add no output", () => {
  const evil = `https://x/$(touch ${folder}/evil)\nstate=done`;
  run(labelled("picoclaw", evil), { program: standIn({ state: `a\nb=c` }) });
  expect(existsSync(join(folder, "evil"))).toBe(false);
  expect(readFileSync(join(folder, "output"), "utf8")).toBe("state=ab=c\npull-request=\n");
});

test("the program of this repository takes these arguments, and its refusal is a failed step", () => {
  const { status, outputs, stderr } = run(labelled("picoclaw", "https://nowhere.invalid/7"));
  expect(outputs).toBe("state=refused\npull-request=\n");
  expect([status === 0, stderr.trim() === ""]).toEqual([false, false]);
  expect(stderr).not.toContain("--candidates");
});
