/** The affected tests of a project that is too large to be read whole. */
import { expect, test } from "bun:test";
import { findAffected } from "../../../src/application/checks/affected.ts";
import type { WorkspaceFiles } from "../../../src/application/ports/platform-view.ts";
import { findAffectedTests } from "../../../src/domain/checks/affected-tests.ts";

const PACKAGES = 200;
const TESTS = 20_000;

/** 200 packages: each has its modules, and tests that import them and share identifiers with all others. */
function createTexts(): Map<string, string> {
  const texts = new Map<string, string>();
  const cases = (number: number) =>
    Array.from(
      { length: 20 },
      (_, at) =>
        `test("${at} of ${number}", () => expect(f${number}(value${at})).toBe(name${(number * at) % 900}));`,
    );
  for (let number = 0; number < TESTS; number++)
    texts.set(
      `packages/p${number % PACKAGES}/test/a${number}.test.ts`,
      `import { f } from "../src/m${number % 4000}";\n${cases(number).join("\n")}\n`,
    );
  for (let number = 0; number < 4000; number++)
    texts.set(
      `packages/p${number % PACKAGES}/src/m${number}.ts`,
      "export function f(a, b) {\n  return a + b;\n}\n",
    );
  return texts;
}

function viewOf(texts: ReadonlyMap<string, string>): WorkspaceFiles {
  const folders = new Map<string, Set<string>>();
  for (const path of texts.keys()) {
    const parts = path.split("/");
    for (let at = parts.length - 1; at >= 0; at--) {
      const folder = parts.slice(0, at).join("/");
      folders.set(folder, (folders.get(folder) ?? new Set()).add(parts[at] as string));
    }
  }
  const view = {
    list: (folder: string) => [...(folders.get(folder) ?? [])],
    look: (path: string) =>
      folders.has(path) ? { kind: "directory" } : { kind: "file", size: texts.get(path)?.length ?? 0 },
    read: (path: string) => new TextEncoder().encode(texts.get(path)),
  };
  return view as unknown as WorkspaceFiles;
}

const SOURCE = "packages/p199/src/m3999.ts";
const CHANGED = "packages/p199/test/a199.test.ts";
const texts = createTexts();
const before = texts.get(SOURCE) ?? "";

test("of 20,000 test files, the changed ones and those of the changed package are found", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const diff = () => [
    { path: SOURCE, before: bytes(before), after: bytes(before.replace("+", "-")) },
    { path: CHANGED, before: bytes(""), after: bytes(texts.get(CHANGED) ?? "") },
  ];
  const { files } = findAffected({ files: viewOf(texts), diff: diff as never });
  expect(files[0]).toBe(CHANGED);
  expect(files).toContain("packages/p199/test/a3999.test.ts");
});

test("20,000 test files are ranked within 2 seconds of processor time", () => {
  const from = process.cpuUsage();
  const after = before.replace("+", "-");
  const { files, of } = findAffectedTests({ texts, changed: [{ path: SOURCE, before, after }] });
  expect([of, files.length > 0]).toEqual([TESTS, true]);
  expect(process.cpuUsage(from).user).toBeLessThan(2_000_000);
});
