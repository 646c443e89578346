/** What a project's root holds, as far as it tells how the project is checked. */
export interface ProjectFiles {
  /** Names in the root folder. */
  readonly names: readonly string[];
  /** Texts of the few files that were read. */
  readonly texts: Readonly<Record<string, string>>;
}

export interface ProjectCheck {
  readonly kind: "test" | "lint";
  readonly command: string;
}

/** Files whose text `projectChecks` wants to see. */
export const READ_FOR_CHECKS = [
  "package.json",
  "pyproject.toml",
  "setup.cfg",
  "tox.ini",
  "Makefile",
] as const;

/** How the project is tested and linted, by its own files; `configured` replaces the tests. At most one of each. */
export function projectChecks(files: ProjectFiles, configured: string | null): readonly ProjectCheck[] {
  const test = configured ?? findTest(files);
  const lint = findLint(files);
  return [
    ...(test === null ? [] : [{ kind: "test" as const, command: test }]),
    ...(lint === null ? [] : [{ kind: "lint" as const, command: lint }]),
  ];
}

function findTest(files: ProjectFiles): string | null {
  const has = (name: string) => files.names.includes(name);
  const script = scriptsOf(files).test;
  if (script !== undefined && !/no test specified/.test(script)) return `${packageManager(files)} test`;
  if (isPython(files) && (hasPytest(files) || has("tests") || has("test") || hasTestFile(files)))
    return "python -m pytest -q";
  if (has("Cargo.toml")) return "cargo test";
  if (has("go.mod")) return "go test ./...";
  if (has("Gemfile") && has("spec")) return "bundle exec rspec";
  if (has("pom.xml")) return "mvn -q test";
  if (has("composer.json") && (has("phpunit.xml") || has("phpunit.xml.dist"))) return "vendor/bin/phpunit";
  if (/^test\s*:(?!=)/m.test(files.texts.Makefile ?? "")) return "make test";
  return null;
}

function findLint(files: ProjectFiles): string | null {
  if (scriptsOf(files).lint !== undefined) return `${packageManager(files)} run lint`;
  const python = [files.texts["pyproject.toml"], files.texts["setup.cfg"], files.texts["tox.ini"]].join("\n");
  if (/^\[tool\.ruff/m.test(python) || files.names.includes("ruff.toml")) return "ruff check .";
  if (/^\[flake8\]/m.test(python) || files.names.includes(".flake8")) return "flake8";
  if (/^lint\s*:(?!=)/m.test(files.texts.Makefile ?? "")) return "make lint";
  return null;
}

function isPython({ names }: ProjectFiles): boolean {
  return names.some((name) =>
    /^(?:pyproject\.toml|setup\.(?:py|cfg)|requirements.*\.txt|.*\.py)$/.test(name),
  );
}

function hasPytest({ names, texts }: ProjectFiles): boolean {
  const settings = [texts["pyproject.toml"], texts["setup.cfg"], texts["tox.ini"]].join("\n");
  return names.includes("pytest.ini") || names.includes("conftest.py") || /pytest/.test(settings);
}

function hasTestFile({ names }: ProjectFiles): boolean {
  return names.some((name) => /^(?:test_.*|.*_test)\.py$/.test(name));
}

function packageManager({ names }: ProjectFiles): string {
  if (names.includes("pnpm-lock.yaml")) return "pnpm";
  return names.includes("yarn.lock") ? "yarn" : "npm";
}

/** A `package.json` that is no JSON has no scripts. */
function scriptsOf({ texts }: ProjectFiles): Readonly<Record<string, string | undefined>> {
  try {
    const { scripts } = JSON.parse(texts["package.json"] ?? "{}") as { scripts?: Record<string, string> };
    return typeof scripts === "object" && scripts !== null ? scripts : {};
  } catch {
    return {};
  }
}
