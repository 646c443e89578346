import type { ProjectCheck } from "./project-check.ts";

const KNOWN_RUNNERS: readonly RegExp[] = [
  /^(?:npm|pnpm|yarn|bun)(?: run)? (?:t|test|tests|lint|check)(?::[\w-]+)?(?: |$)/,
  /^(?:npx |pnpm exec |yarn )?(?:jest|vitest|mocha|ava|tape|eslint)(?: |$)/,
  /^node --test(?: |$)/,
  /^bun test(?: |$)/,
  /^(?:python3? -m )?(?:pytest|unittest|ruff check|flake8|mypy)(?: |$)/,
  /^(?:go (?:test|vet)|cargo (?:test|check|clippy)|make (?:test|check|lint)|tox|deno test)(?: |$)/,
  /^(?:\.\/)?(?:mvnw?|gradlew?)(?: -\S+)* (?:test|check|verify)(?: |$)/,
];

/** These change files on purpose. */
const WRITING_FLAGS = /(?:^| )(?:--fix\S*|-u|--update\S*|--write|-w|--coverage-report\S*)(?: |$)/;

/** Whether a script is one plain call of the project's tests or linters, which is run for what it says and not for what it writes. */
export function isKnownCheck(script: string, checks: readonly ProjectCheck[]): boolean {
  const line = script.trim().replace(/ 2>&1$/, "");
  if (checks.some(({ command, line: full }) => line === command || line === full)) return true;
  if (/[\n;&|<>`]|\$\(/.test(line) || WRITING_FLAGS.test(line)) return false;
  return KNOWN_RUNNERS.some((runner) => runner.test(line));
}
