import { CHECK_RUNNERS } from "./runners/registry.ts";

/** One file of a change; null where it did not or does not exist. */
export interface ChangedText {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

const CODE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|swift|cs|php|c|h|cc|cpp|hpp|ex|exs|scala|lua|pl|dart|vue|svelte|sh|bash)$/i;

/** Whether a file is code that a ranking can read. */
export function isCodePath(path: string): boolean {
  return CODE.test(path) && !/\.d\.[cm]?ts$/.test(path);
}

const TEST_FOLDERS =
  /(?:^|\/)(?:tests?|__tests__|__snapshots__|specs?|e2e|test[-_]?(?:data|cases|files|resources)|src\/test)\//i;
/** Conventions of the runners, and of languages beside them. */
const TEST_FILES: readonly RegExp[] = [
  ...CHECK_RUNNERS.flatMap(({ testPaths = [] }) => testPaths),
  /_test\.(?:rb|exs|dart|cc|cpp)$/,
  /(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs|php|swift|groovy)$/,
  /(?:^|\/)tests?\.(?:py|rs|rb)$/,
];

/** Whether a path is a test or its expected data, by the conventions of its language. */
export function isTestPath(path: string): boolean {
  return TEST_FOLDERS.test(path) || TEST_FILES.some((pattern) => pattern.test(path));
}

const TEXTS = /\.(?:md|markdown|mdown|rst|adoc|asciidoc|textile|org)$/i;
const NAMED =
  /(?:^|\/)(?:README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|CHANGELOG|CHANGES|HISTORY)(?:\.txt)?$/i;
const IN_DOCS = /^(?:docs?|documentation)\/.*\.(?:txt|png|jpe?g|gif|svg|webp)$/i;

/** Whether a path is documentation, which no check judges. */
export function isDocumentation(path: string): boolean {
  if (isTestPath(path)) return false;
  return TEXTS.test(path) || NAMED.test(path) || IN_DOCS.test(path);
}

/** Files that decide how checks run: runner and package-manager configuration, set-up files, build files, wrappers. */
const DECIDING: readonly RegExp[] = CHECK_RUNNERS.flatMap(({ decidedBy = [] }) => decidedBy);

export function decidesChecks(path: string, { isNew = false } = {}): boolean {
  return (
    DECIDING.some((one) => one.test(path)) ||
    (isNew && CHECK_RUNNERS.some(({ shadowedBy }) => shadowedBy?.(path) === true))
  );
}
