import type { NewTests } from "./test-results.ts";
import type { ChecksFacts, WhyNotChecked } from "./verdict.ts";

/** Findings that name tests, files or lines, in the order in which a person reads them. */
const NAMED = {
  worse: (facts) => facts.worse,
  "new-failing": (facts) => facts.newFailing,
  "still-red": (facts) => facts.stillRed,
  "red-before": (facts) => facts.redBefore,
  rewritten: (facts) => facts.rewritten,
  "expects-else": (facts) => facts.expectsElse,
  moved: (facts) => facts.moved,
  "removed-with-code": (facts) => facts.removedWithCode,
  unable: (facts) => facts.unable,
  hung: (facts) => facts.hung,
  weakened: (facts) => facts.weakened,
  "only-with": (facts) => facts.onlyWith,
  installed: (facts) => facts.installed,
  "test-run-lines": (facts) => facts.testRunLines?.map(({ path, line }) => `${path}: ${line}`),
} satisfies Record<string, (facts: ChecksFacts) => readonly string[] | undefined>;
const NAMED_LAST = {
  unnoticed: ({ notChecked, unnoticed }) => (notChecked === "blind" ? [] : unnoticed),
  flaky: ({ flaky, unstable = [] }) => flaky?.filter((test) => !unstable.includes(test)),
  unstable: ({ unstable }) => unstable,
  formatted: ({ formatted }) => formatted,
} satisfies Record<string, (facts: ChecksFacts) => readonly string[] | undefined>;

export type NamedCode = keyof typeof NAMED | keyof typeof NAMED_LAST;

/** The result of new tests for a change: how all of them end over the old code, or that they end in several ways. */
export type NewTestsCode = "new-pass-too" | "new-endless" | "new-cannot-run" | "new-fail" | "new-mixed";

/** One fact about the checks that is shown to a person besides the verdict and its counts. */
export type Finding =
  | { readonly code: NamedCode; readonly names: readonly string[] }
  | { readonly code: "proposed"; readonly commands: readonly string[] }
  | { readonly code: "proposed-unable"; readonly command: string; readonly why: WhyNotChecked }
  | { readonly code: "weakened-all" | "flaky-check" }
  | { readonly code: "took"; readonly seconds: number }
  | ({ readonly code: NewTestsCode } & Required<Pick<NewTests, "count">> & NewTestsShares);

interface NewTestsShares {
  readonly failing: number;
  readonly cannotRun: number;
  readonly passing: number;
  readonly isEndless: boolean;
}

/** The findings of one judgement, in display order. */
export function toFindings(facts: ChecksFacts): Finding[] {
  const { proposed, commands, weakensTests, weakened, newTests, isFlaky, flaky, seconds } = facts;
  return [
    ...(proposed === undefined
      ? []
      : proposed.why === null
        ? [{ code: "proposed", commands } as const]
        : [{ code: "proposed-unable", command: proposed.command, why: proposed.why } as const]),
    ...listNamed(NAMED, facts),
    ...(weakensTests && weakened.length === 0 ? [{ code: "weakened-all" } as const] : []),
    ...(newTests === undefined ? [] : [toNewTestsFinding(newTests)]),
    ...listNamed(NAMED_LAST, facts),
    ...(isFlaky && flaky === undefined ? [{ code: "flaky-check" } as const] : []),
    ...(seconds === undefined ? [] : [{ code: "took", seconds } as const]),
  ];
}

function listNamed<Code extends NamedCode>(
  table: Readonly<Record<Code, (facts: ChecksFacts) => readonly string[] | undefined>>,
  facts: ChecksFacts,
): Finding[] {
  return (Object.keys(table) as Code[]).flatMap((code) => {
    const names = table[code](facts) ?? [];
    return names.length === 0 ? [] : [{ code, names }];
  });
}

function toNewTestsFinding({ count, passWithout, cannotRun = 0, isEndless: endless }: NewTests): Finding {
  const isEndless = endless === true;
  const failing = count - passWithout - cannotRun;
  const shares = { count, failing, cannotRun, passing: passWithout, isEndless };
  if (passWithout === count) return { code: "new-pass-too", ...shares };
  if (passWithout === 0 && isEndless) return { code: "new-endless", ...shares };
  if (cannotRun === count) return { code: "new-cannot-run", ...shares };
  if (passWithout + cannotRun === 0) return { code: "new-fail", ...shares };
  return { code: "new-mixed", ...shares };
}
