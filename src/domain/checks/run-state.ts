import type { CheckResult } from "./verdict.ts";

/** As Python says it of a module that it was to run. */
const NO_MODULE = /(?:^|\n)\S*python\S*: No module named [\w.]+\s*$/;

/** What a check that came to its end says: a program or a module that is not there says nothing of the change. */
export function checkRunState(exitCode: number | null, printed: string): CheckResult["state"] {
  if (exitCode === 126 || exitCode === 127 || NO_MODULE.test(printed)) return "cannot-run";
  return exitCode === 0 ? "green" : "red";
}
