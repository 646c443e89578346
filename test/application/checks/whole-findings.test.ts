import { describe, expect, test } from "bun:test";
import { wordChecks } from "../../../src/application/checks/project-checks.ts";
import {
  type ChecksFacts,
  codesWith,
  type FindingCode,
  type FindingValues,
  makesOf,
  notChecked,
  readChecksRecord,
  toChecksRecord,
  withFound,
} from "../../../src/domain/checks/findings.ts";
import type { Verdict } from "../../../src/domain/checks/verdict.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";
import { LOCALES } from "../../../src/domain/texts/locale.ts";

const LINES = [{ path: "src/a.js", line: "NAMED = 1" }];
const REASONED = [{ test: "NAMED", reason: "NAMED" }];
/** One value of each finding; a code without one does not compile. */
const VALUES: { readonly [Code in FindingCode]: FindingValues[Code] } = {
  worse: ["NAMED"],
  newErrors: [{ command: "NAMED", errors: ["NAMED"] }],
  mended: ["NAMED"],
  newFailing: ["NAMED"],
  newPassing: ["NAMED"],
  stillRed: ["NAMED"],
  redBefore: ["NAMED"],
  silenced: ["NAMED"],
  unable: ["NAMED"],
  moved: ["NAMED"],
  expectsElse: ["NAMED"],
  rewritten: ["NAMED"],
  weakened: ["NAMED"],
  weakensTests: true,
  unnamed: ["NAMED"],
  notMine: REASONED,
  meantToFail: REASONED,
  removed: ["NAMED"],
  removedWithCode: ["NAMED"],
  beside: [{ command: "NAMED", state: "cannot-run" }],
  isFlaky: true,
  unended: { commands: ["NAMED"], seconds: 7 },
  seconds: 7,
  formatted: ["NAMED"],
  newlyRed: ["NAMED"],
  rungs: [{ insteadOf: "NAMED", why: "unread", command: "NAMED" }],
  errorBefore: "NAMED",
  absent: ["NAMED"],
  install: "NAMED",
  proposed: { command: "NAMED", why: null },
  sourced: { from: { name: "request" }, own: ["NAMED"], why: "slow" },
  onlyWith: ["NAMED"],
  installed: ["NAMED"],
  testRunLines: LINES,
  patches: LINES,
  unnoticed: ["NAMED"],
  newTests: { count: 2, passWithout: 1 },
  flaky: ["NAMED"],
  unstable: ["NAMED"],
  together: ["NAMED"],
  services: ["PostgreSQL (port 5432)"],
  tooLong: { seconds: 61, limit: 60 },
  cheaper: ["NAMED"],
  hung: ["NAMED"],
  cannotRun: [{ command: "NAMED", cause: "NAMED" }],
  refused: [{ test: "NAMED", reason: "NAMED", tie: "message" }],
  affectedOnly: { files: 1, of: 9, wholeSeconds: 600, isAtLeast: true },
};
const VERDICTS: readonly Verdict[] = [
  "same",
  "better",
  "worse",
  "doubtful",
  "still-red",
  "new-failing",
  "red-before",
];
const CODES = Object.keys(VALUES) as readonly FindingCode[];

function factsOf(verdict: Verdict, code: FindingCode): ChecksFacts {
  const counts = { passed: 5, failed: 1, skipped: 0 };
  const facts = { ...notChecked("no-checks", ["npm test"]), verdict, counts, notChecked: null };
  return withFound(facts, { [code]: VALUES[code] });
}

const report = (facts: ChecksFacts) => wordChecks(facts, { runs: [] }, []);
const isWhole = (words: string) => !/undefined|\[object|\{\w+\}|NaN/.test(words);

for (const locale of LOCALES) {
  const { headline, line, brief, remarks } = checksMessagesFor(locale);
  describe(`every finding in ${locale}`, () => {
    test("is worded with every verdict, live and from JSON, with no hole left", () => {
      for (const code of CODES)
        for (const verdict of VERDICTS) {
          const facts = factsOf(verdict, code);
          const stored = JSON.parse(JSON.stringify(toChecksRecord(facts)));
          expect(stored[code]).toEqual(VALUES[code]);
          expect(readChecksRecord(stored)).toEqual(facts);
          for (const word of [headline, line, brief, (one: ChecksFacts) => remarks(one).join("\n")]) {
            const words = word(facts);
            expect(`${code}, ${verdict}: ${words}`).toSatisfy(isWhole);
            expect(word(stored)).toBe(words);
          }
          expect(report(facts)).toSatisfy(isWhole);
        }
    });

    test("has the remark that its entry promises", () => {
      for (const code of codesWith("remark", true))
        expect([code, remarks(factsOf("same", code)).length]).toEqual([code, 1]);
    });

    test("is in the first line and in the line where its entry says so", () => {
      const without = { ...factsOf("doubtful", "absent"), findings: [] };
      for (const code of codesWith("inFirstLine", "doubt", "after", "declared")) {
        const facts = factsOf("doubtful", code);
        expect([code, headline(facts), line(facts)]).not.toContain(headline(without));
        expect(line(facts)).not.toBe(line(without));
      }
    });

    test("that makes a draft doubtful is the reason that its first line, its line and its brief give", () => {
      for (const code of CODES.filter((one) => makesOf(one) === "doubtful")) {
        const facts = factsOf("doubtful", code);
        const said = brief(facts).split(/, |、/).at(-1) as string;
        expect([code, said]).not.toContain("");
        expect(headline(facts)).toContain(said);
        expect(line(facts)).toContain(said);
      }
    });
  });
}

test("the coder's report says why it is red or doubtful, by the finding that made it so", () => {
  const verdicts: Partial<Record<FindingCode, Verdict>> = {
    stillRed: "still-red",
    unnamed: "still-red",
    newFailing: "new-failing",
  };
  for (const code of codesWith("forCoder", "sentence", "both")) {
    const makes = makesOf(code);
    if (makes === undefined) continue;
    const verdict = makes === "doubtful" ? "doubtful" : (verdicts[code] ?? "worse");
    const [first = ""] = report(factsOf(verdict, code)).split("\n\n");
    const plain = report({ ...factsOf(verdict, code), findings: [] }).split("\n\n")[0] ?? "";
    const isPlain = code === "worse" || code === "stillRed" || code === "newFailing";
    expect([code, first]).not.toContain("");
    expect([code, first === plain]).toEqual([code, isPlain]);
  }
  for (const code of codesWith("forCoder", "listed", "both"))
    expect(report(factsOf("worse", code))).toContain(":\n- NAMED");
});
