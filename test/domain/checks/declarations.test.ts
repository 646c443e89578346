import { expect, test } from "bun:test";
import fc from "fast-check";
import { readDeclarations, resolveDeclarations } from "../../../src/domain/checks/declarations.ts";

const TARGETS = new Map([
  ["tests/a.py::test_x", ["tests/a.py::test_x", "test_x", "tests/a.py", "pytest -q"]],
  ["parses: a, b", ["parses: a, b", "npm test"]],
]);
const declared = (plan: string) => Object.fromEntries(resolveDeclarations(readDeclarations(plan), TARGETS));

test("a line of its own declares, in a list or in bold or plain, and prose does not", () => {
  const plan = `Add an option.
- **Fixes:** \`test_x\`
Not mine: parses: a, b: the build output is missing
This fixes: nothing.`;
  expect(readDeclarations(plan)).toHaveLength(2);
  expect(declared(plan)).toEqual({
    "tests/a.py::test_x": { kind: "fixes", reason: "" },
    "parses: a, b": { kind: "not-mine", reason: "the build output is missing" },
  });
});

test("a test is named by its name, its bare name, its file or the command of its check", () => {
  for (const name of ["tests/a.py::test_x", "test_x", "tests/a.py", "pytest -q", "`test_x`"])
    expect(declared(`Not mine: ${name}: no network`)).toEqual({
      "tests/a.py::test_x": { kind: "not-mine", reason: "no network" },
    });
});

test("several names share a reason, and a later line replaces an earlier one", () => {
  expect(declared("Fixes: test_x, parses: a, b")).toMatchObject({
    "tests/a.py::test_x": { kind: "fixes" },
    "parses: a, b": { kind: "fixes" },
  });
  expect(declared("Fixes: test_x\nNot mine: test_x: flaky")).toEqual({
    "tests/a.py::test_x": { kind: "not-mine", reason: "flaky" },
  });
});

test("a name that fits nothing declares nothing", () => expect(declared("Fixes: everything")).toEqual({}));

test("any test can be declared by its exact name", () => {
  const name = fc.string({ minLength: 1, maxLength: 40 }).filter((one) => /^[^\s`"'“”「」]+$/.test(one));
  fc.assert(
    fc.property(name, (one) => {
      const found = resolveDeclarations(readDeclarations(`Fixes: ${one}`), new Map([["key", [one]]]));
      expect(found.get("key")?.kind).toBe("fixes");
    }),
  );
});
