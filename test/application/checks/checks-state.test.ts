import { expect, test } from "bun:test";
import {
  type ChecksKnown,
  NOTHING_KNOWN,
  wordStateForCoder as word,
} from "../../../src/application/checks/project-checks.ts";
import { notChecked } from "../../../src/domain/checks/findings.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

const NOW: ChecksKnown = { ...NOTHING_KNOWN, last: { durationMs: 24_000, wasEnded: false } };
const wordStateForCoder = (state: Parameters<typeof word>[0], known = NOTHING_KNOWN) => word(state, known);

test("a command that ends with dots is set apart from the sentence around it", () => {
  const checks = ["go test ./...", "ruff check ."].map((command) => ({ command, result: null }));
  expect(wordStateForCoder({ checks, none: null }, NOW)).toContain(
    "do not run them: `go test ./...`; `ruff check .`, 24 s the last time. Declare",
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

test("a command is left to PicoClaw only where it is known to end in time; else a narrow one is named", () => {
  const narrow = ["npx vitest run FILE"];
  const checks = [{ command: "npm test", result: null }];
  const untried = wordStateForCoder({ checks, none: null }, { ...NOTHING_KNOWN, narrow });
  expect(untried).toStartWith("PicoClaw tries these after the patch: `npm test`, not tried here yet.");
  expect(untried).toContain("test your change by `npx vitest run FILE`");
  const last = { durationMs: 120_400, wasEnded: true };
  const slow = wordStateForCoder({ checks, none: null }, { ...NOTHING_KNOWN, last, narrow });
  expect(slow).toStartWith("`npm test` did not end in 120 s here.");
  expect(slow).toContain("do not run all of them, test your change by `npx vitest run FILE`");
});

test("what other commands judged here, and which could not, is told with the reason", () => {
  const from = { name: "docs", file: "AGENTS.md" } as const;
  const works = { kind: "test", command: "pytest tests/unit", line: "pytest tests/unit", from } as const;
  const others = {
    works: { ...works, insteadOf: [], why: "cannot-run" as const, decided: 0, seconds: 31, at: 1 },
    tried: [{ command: "tox -e py", from, why: "cannot-run" } as const, { ...works, why: null }],
  };
  const none = notChecked("cannot-run", ["mvn test"]);
  const told = wordStateForCoder({ checks: [], none }, { ...NOTHING_KNOWN, others });
  expect(told).toContain("`pytest tests/unit` judged here in 31 s, and PicoClaw runs it after the patch.");
  expect(told).toContain("These cannot judge here: `tox -e py` (cannot run).");
});
