import { expect, test } from "bun:test";
import { wordStateForCoder } from "../../../src/application/checks/project-checks.ts";
import { notChecked } from "../../../src/domain/checks/findings.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

test("a command that ends with dots is set apart from the sentence around it", () => {
  const checks = ["go test ./...", "ruff check ."].map((command) => ({ command, result: null }));
  expect(wordStateForCoder({ checks, none: null })).toContain(
    "do not run them: `go test ./...`; `ruff check .`. Declare",
  );
});

test("a command that cannot run is set apart as well", () => {
  const none = notChecked("cannot-run", ["go test ./..."]);
  expect(wordStateForCoder({ checks: [], none })).toStartWith(
    "Not checked: `go test ./...` cannot run here; ",
  );
});

test("the coder keeps to the configuration of a check that cannot run here, and only then reads so", () => {
  const worded = (state: CheckResult["state"]) =>
    wordStateForCoder({
      checks: [{ command: "eslint .", result: { kind: "lint", command: "eslint .", state, results: null } }],
      none: null,
    });
  expect(worded("cannot-run")).toContain(
    "`eslint .` (currently: cannot run here). A check that cannot run here runs elsewhere: follow its configuration. Declare",
  );
  expect(worded("green")).not.toContain("configuration");
});

test("a project without tests is described briefly, without a setting that only a person can change", () => {
  expect(wordStateForCoder({ checks: [], none: notChecked("no-checks", []) })).toBe(
    "No tests of the project were found. If a single command can test the change here, write it alone in a section ## Check.",
  );
});
