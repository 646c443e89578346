import { expect, test } from "bun:test";
import { isKnownCheck, withSettingsOf } from "../../../src/domain/checks/find-checks.ts";

const CHECKS = [{ kind: "test" as const, command: "just verify", line: "just verify" }];

test("a plain call of tests or linters is a check; a command that writes, or does more, is not", () => {
  const known = [
    "just verify",
    "npm test",
    "npm test -- --grep sum",
    "npm run lint",
    "yarn test:unit",
    "npx jest src/a.test.js 2>&1",
    "node --test",
    "python -m pytest tests/test_a.py -q",
    "pytest -x",
    "go test ./pkg/...",
    "cargo test sum",
    "./gradlew -q test",
  ];
  const others = [
    "just build",
    "npm run build",
    "npm install",
    "npx eslint . --fix",
    "jest -u",
    "npm test && git push",
    "npm test > out.txt",
    "go generate ./...",
    "echo npm test",
    "npm testing",
    "mocha $(rm -rf x)",
  ];
  const which = (lines: readonly string[]) => lines.filter((line) => isKnownCheck(line, CHECKS));
  expect(which(known)).toEqual(known);
  expect(which(others)).toEqual([]);
});

test("a command of the coder gets the variables of the project's own test line, and no others", () => {
  const set = (line: string, runner?: string) => {
    const check = {
      kind: "test" as const,
      command: "npm test",
      line,
      ...(runner !== undefined && { runner }),
    };
    return withSettingsOf([check], "x").replace(/PATH="\$PWD\/node_modules.*$/, "");
  };
  expect(set('PYTHONPATH="$PWD/src" python -m pytest')).toBe('export PYTHONPATH="$PWD/src" ');
  expect(set("npm test", 'export PATH="$PWD/b:$PATH"; { tsc && a; } || exit; cross-env A=1 B=two jest')).toBe(
    "export A=1 B=two ",
  );
  for (const line of ["go test ./...", "A=$(touch x) npm test", "A=1;B=2 sh x", "make A=1 test"])
    expect([line, set(line)]).toEqual([line, "export "]);
});
