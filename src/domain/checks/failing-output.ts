import { cutMiddle } from "../texts/cut-middle.ts";

/** How runners say that one test passed, or that it began. */
const PASSED = [
  /^\s*ok \d+\b(?!.*# (?:TODO|SKIP))/,
  /^\s*[✓✔√] /,
  /^\s*PASS(?:ED)? /,
  /^\S+::\S.* PASSED\b/,
  /^\s*--- PASS: /,
  /^\s*=== (?:RUN|PAUSE|CONT|NAME) /,
  /^test .+ \.\.\. ok$/,
];
/** The title of a test in TAP; alone it says nothing. */
const TITLE = /^\s*# (?!tests|pass|fail|skip|todo|suites|cancelled|duration)/;
/** The details that node's TAP prints below every line, also of what passed. */
const DETAILS = { opens: /^\s+---$/, closes: /^\s+\.\.\.$/ };

/**
 * What a runner printed, without the tests that passed: a coder who is to mend three of a thousand wants to see those
 * three. Head and tail stay where it is still too long.
 */
export function failingOutput(output: string, limitChars: number): string {
  const kept: string[] = [];
  let left = 0;
  let belowPassed = false;
  let inDetails = false;
  const flush = () => {
    if (left > 0) kept.push(`… ${left} lines about tests that passed …`);
    left = 0;
  };
  const lines = output.split("\n");
  for (const [at, line] of lines.entries()) {
    if (belowPassed && (inDetails || DETAILS.opens.test(line))) {
      inDetails = !DETAILS.closes.test(line);
      left++;
      continue;
    }
    belowPassed = PASSED.some((one) => one.test(line));
    inDetails = false;
    if (belowPassed || (TITLE.test(line) && saysNothing(lines[at + 1]))) {
      left++;
      continue;
    }
    flush();
    kept.push(line);
  }
  flush();
  return cutMiddle(kept.join("\n"), limitChars);
}

function saysNothing(next: string | undefined): boolean {
  return next !== undefined && (TITLE.test(next) || PASSED.some((one) => one.test(next)));
}
