/** What a file is to a coder. */
export type FileKind = "source" | "settings" | "test" | "docs" | "history" | "fixture" | "generated";

export const SOURCE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|swift|cs|php|c|h|cc|cpp|hpp|m|ex|exs|erl|scala|clj|lua|pl|dart|hs|ml|r|jl|vue|svelte|sql|sh|bash)$/i;

const GENERATED =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.(?:min\.[cm]?js|min\.css|bundle\.js|map|snap|svg|csv|tsv|ndjson|lock|tsbuildinfo)$|(?:^|\/)(?:dist|build|out|coverage|vendor|third_party|generated)\//i;
const FIXTURE =
  /(?:^|\/)(?:fixtures?|__fixtures__|testdata|test-data|snapshots?|__snapshots__|golden|cassettes|recordings)\//i;
const TEST =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testing)\/|(?:^|[./_-])(?:test|spec|tests)\.[a-z]+$|_test\.(?:go|py|rb|exs|dart)$|(?:^|\/)test_[^/]*\.py$|(?:Test|Tests|Spec)\.(?:java|kt|cs|scala|swift|php)$/;
const HISTORY = /(?:^|\/)(?:change-?log|changes|history|news|releases?|licen[cs]e|copying|authors)[^/]*$/i;
const DOCS = /\.(?:md|mdx|rst|adoc|txt)$|(?:^|\/)(?:docs?|documentation)\//i;

export function fileKind(path: string): FileKind {
  if (GENERATED.test(path)) return "generated";
  if (FIXTURE.test(path)) return "fixture";
  if (TEST.test(path)) return "test";
  if (!SOURCE.test(path) && HISTORY.test(path)) return "history";
  if (!SOURCE.test(path) && DOCS.test(path)) return "docs";
  return SOURCE.test(path) ? "source" : "settings";
}
