import { cargo } from "./cargo.ts";
import type { CheckRunner } from "./check-runner.ts";
import { go } from "./go.ts";
import { maven } from "./maven.ts";
import { packageScripts } from "./package-scripts.ts";
import { plainRunners } from "./plain-runners.ts";
import { python, pythonTests, tox } from "./python.ts";
import { tap } from "./tap.ts";

/** One line a runner. Of those that could test a project, the first does. */
export const CHECK_RUNNERS: readonly CheckRunner[] = [
  tap,
  packageScripts,
  python,
  tox,
  cargo,
  go,
  maven,
  ...plainRunners,
  pythonTests,
];
