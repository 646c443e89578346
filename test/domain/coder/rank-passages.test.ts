import { expect, test } from "bun:test";
import { rankPassages } from "../../../src/domain/coder/rank-passages.ts";
import { requestTerms } from "../../../src/domain/platform/request-terms.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

function rank(request: string, files: Readonly<Record<string, string>>) {
  const terms = requestTerms(request);
  const all = terms.map((_, at) => at);
  const scored = Object.entries(files).map(([path, text]) => ({ path, text, score: 1, terms: all }));
  return rankPassages(
    scored,
    terms,
    terms.map(({ weight }) => weight),
  );
}

const body = (words: string) => Array.from({ length: 20 }, () => `  use(${words});`).join("\n");

test("the function that holds several words of a request precedes those that hold one of them often", () => {
  const [first] = rank("the invoice total ignores the discount", {
    "src/long.ts": `export function a() {\n${body("invoice")}\n}\nexport function b() {\n${body("total")}\n}\n`,
    "src/short.ts": "export function c() {\n  invoice();\n  total();\n  discount();\n}\n",
  });
  expect(first).toMatchObject({ path: "src/short.ts", from: 1, to: 5 });
});

test("a word counts at the beginning of a part of a name, not inside another word", () => {
  const paths = rank("the port is wrong", {
    "a.ts": "export function report() {\n  return 1;\n}\n",
    "b.ts": "export function httpPort() {\n  return 1;\n}\n",
  }).map(({ path }) => path);
  expect(paths).toEqual(["b.ts"]);
});

test("no line belongs to two passages, and a long class is split into its methods", () => {
  const methods = Array.from(
    { length: 30 },
    (_, at) => `  method${at}() {\n    return total;\n${"    step();\n".repeat(6)}  }`,
  );
  const passages = rank("the total", { "a.ts": `export class Big {\n${methods.join("\n")}\n}\n` });
  expect(passages.length).toBeGreaterThan(25);
  const lines = passages.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at),
  );
  expect(new Set(lines).size).toBe(lines.length);
});

test.each([
  ["a file of 200,000 lines", "export function step() { total(); }\n"],
  ["a minified line of 200,000 statements", "var total=1;"],
])("%s takes time in proportion", (_, part) => {
  const text = part.repeat(200_000);
  const begun = cpuTimeMs();
  rank("the total of a step", { "a.ts": text });
  expect(cpuTimeMs() - begun).toBeLessThan(5_000);
});
