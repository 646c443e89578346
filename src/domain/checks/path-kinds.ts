const TEST_FOLDERS = /(?:^|\/)(?:tests?|__tests__|__snapshots__|specs?|e2e|testdata|src\/test)\//i;
const TEST_FILES: readonly RegExp[] = [
  /\.(?:test|spec|e2e|cy)\.[a-z]+$/i,
  /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/,
  /_test\.(?:go|rb|exs|dart|cc|cpp)$/,
  /_spec\.rb$/,
  /(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs|php|swift|groovy)$/,
  /(?:^|\/)tests?\.[cm]?[jt]sx?$/,
  /(?:^|\/)tests?\.(?:py|rs|rb)$/,
  /\.snap$/,
];

/** Whether a path is a test, or what a test compares with, by the conventions of its language. */
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
