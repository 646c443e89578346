/** Files that decide how checks run: runner and package-manager configuration, set-up files, build files, wrappers. */
const DECIDING: readonly RegExp[] = [
  /(?:^|\/)package\.json$/,
  /(?:^|\/)\.(?:npmrc|yarnrc(?:\.yml)?|pnpmfile\.cjs|mocharc\.\w+|taprc|nycrc(?:\.json)?|c8rc\.json|coveragerc)$/,
  /(?:^|\/)(?:jest|vitest|vite|ava|karma|playwright|cypress|babel|web-test-runner)\.(?:config|setup|workspace)\.\w+$/,
  /(?:^|\/)(?:setup-?tests?|test-?setup|globalSetup|setupFiles?)\.[cm]?[jt]sx?$/i,
  /(?:^|\/)(?:conftest\.py|pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|sitecustomize\.py|usercustomize\.py)$/,
  /(?:^|\/)(?:GNUm|M|m)akefile$/,
  /(?:^|\/)(?:CMakeLists\.txt|Rakefile|\.rspec|bunfig\.toml|deno\.jsonc?|phpunit\.xml(?:\.dist)?|gradlew|mvnw)$/,
  /(?:^|\/)\.cargo\/config(?:\.toml)?$/,
  /(?:^|\/)node_modules\/\.bin\//,
  /(?:^|\/)\.pth$/,
];

export function decidesChecks(path: string): boolean {
  return DECIDING.some((one) => one.test(path));
}

/** Parts of a `package.json` that decide; a version or a dependency does not. */
const DECIDING_KEYS = ["scripts", "config", "jest", "mocha", "ava", "tap", "c8", "nyc", "vitest", "babel"];

/** The deciding part of a manifest, in short; all of it where it cannot be read. */
export function decidingPartOfManifest(text: string): string {
  try {
    const read = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    return JSON.stringify(DECIDING_KEYS.map((key) => read?.[key] ?? null));
  } catch {
    return text;
  }
}

/** Requests that are about what decides: dependencies, scripts, the runner, the build. */
const MATTERS =
  /\b(?:dependenc(?:y|ies)|upgrade|migrate|migration|runner|package\.json|npm scripts?|test scripts?|scripts?|configur(?:e|ation)|config|jest|vitest|mocha|pytest|tox|esm|makefile|cmake|build system)\b|依存|スクリプト|設定|移行|ビルド/i;

/** Whether a request names one of these files, or speaks of what they decide. */
export function isAboutDeciding(request: string, paths: readonly string[]): boolean {
  const names = paths.map((path) => path.split("/").at(-1) ?? path);
  return names.some((name) => request.includes(name)) || MATTERS.test(request);
}
