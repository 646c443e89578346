import { expect, test } from "bun:test";
import { coderContext, contextBudget, folderTree } from "../../../src/application/coder/coder-context.ts";
import { memoryProject } from "../../fakes/memory-project.ts";

const budget = contextBudget({ local: false }, "full");
const filler = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [
    `src/part${at}/other${at}.ts`,
    `export const x${at} = ${at};\n`.repeat(40),
  ]),
);
const sizeOf = (text: string, path: string) =>
  new RegExp(`<file path="${path}"[^>]*>[\\s\\S]*?</file>`).exec(text)?.[0].length ?? 0;

test("of a document that a long request names only the section is shown, even if the request speaks of all of something else", () => {
  const guide = Array.from(
    { length: 80 },
    (_, at) => `## Section ${at}\n${"Words of the guide.\n".repeat(30)}`,
  );
  guide[40] = "## Property\n`meta.languages` is described here.\n";
  const request = `A rule says which languages it is made for: \`meta.languages\`. ${"Throw one error that lists all of them. ".repeat(12)}Document it in docs/custom-rules.md.`;
  const text = coderContext(memoryProject({ ...filler, "docs/custom-rules.md": guide.join("\n") }), {
    request,
    budget,
  });
  expect(text).toContain("`meta.languages` is described here.");
  expect(sizeOf(text, "docs/custom-rules.md")).toBeLessThan(5_000);
  expect(sizeOf(text, "docs/custom-rules.md")).toBeGreaterThan(300);
});

test("of a changelog that a long request names, the head is shown", () => {
  const log = `# Changes\n\n## 1.23 (PENDING)\n* Open entry.\n\n${"## 1.22\n* Old entry of many words.\n".repeat(2_000)}`;
  const request = `${"An unclosed section is one error for the whole input. ".repeat(12)}Add a line to CHANGES.md.`;
  const text = coderContext(memoryProject({ ...filler, "CHANGES.md": log }), { request, budget });
  expect(text).toContain("* Open entry.");
  expect(sizeOf(text, "CHANGES.md")).toBeLessThan(2_500);
});

test("functions of several files are shown whole, and not the rest of a long file that is like the request", () => {
  const long = Array.from(
    { length: 200 },
    (_, at) => `export function step${at}() {\n  return invoice(${at});\n}\n`,
  );
  const text = coderContext(
    memoryProject({
      ...filler,
      "src/invoice.ts": long.join("\n"),
      "src/rates.ts": `import { a } from "./a";\n\n${"export const unrelated = 1;\n".repeat(90)}\nexport function discountOfInvoice(total) {\n  const first = total;\n\n  return first;\n}\n`,
    }),
    { request: "the discount of an invoice ignores its total", budget },
  );
  expect(text).toContain(
    "export function discountOfInvoice(total) {\n  const first = total;\n\n  return first;\n}",
  );
  expect(text).toContain('import { a } from "./a";');
  expect(text).toMatch(/Not shown, perhaps about it too:\nsrc\/invoice\.ts: step\d+ \d+-\d+, /);
  expect(text.length).toBeLessThan(40_000);
});

test("a tree that does not fit names the files near the chosen ones and folds the others", () => {
  const paths = Object.keys(filler).concat(
    Array.from({ length: 300 }, (_, at) => `lib/deep/f${at % 50}/g${at}/file${at}.ts`),
    ["messages/one.js", "messages/two.js"],
  );
  const tree = folderTree(paths, "", 1_200, new Set(["messages"]));
  expect(tree.split("\n")[0]).toBe("messages/ one.js two.js");
  expect(tree.length).toBeLessThan(1_300);
  const counted = [...tree.matchAll(/\((\d+) files\)/g)].reduce((sum, one) => sum + Number(one[1]), 0);
  expect(counted + 2).toBe(paths.length);
});
