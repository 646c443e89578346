import { findPackageLint, findPackageTest } from "./find-checks.ts";
import type { ProjectCheck, ProjectFiles } from "./project-check.ts";

/** Files whose text `findChecks` wants to see. */
export const READ_FOR_CHECKS = [
  "package.json",
  "pyproject.toml",
  "setup.cfg",
  "tox.ini",
  "Makefile",
] as const;

/**
 * How the project is tested and linted, by its own files; `configured` (`checks.command`) replaces the tests. At most one of each,
 * tests first.
 */
export function findChecks(files: ProjectFiles, configured: string | null): readonly ProjectCheck[] {
  const test = configured === null ? findTest(files) : { command: configured };
  const lint = findLint(files);
  return [
    ...(test === null ? [] : [{ kind: "test" as const, line: test.command, ...test }]),
    ...(lint === null ? [] : [{ kind: "lint" as const, line: lint.command, ...lint }]),
  ];
}

type FoundCommand = Omit<ProjectCheck, "kind" | "line"> & { readonly line?: string };

/** Passed tests before the failed ones, so that the end of the output shows what matters. */
const PYTEST_NAMES = "-rpxXsfE";

function findTest(files: ProjectFiles): FoundCommand | null {
  const has = (name: string) => files.names.includes(name);
  const script = findPackageTest(files);
  if (script !== null) return script;
  if (isPython(files) && (hasPytest(files) || has("tests") || has("test") || hasTestFile(files)))
    return { command: "python -m pytest -q", line: `${python(files)} -m pytest -q ${PYTEST_NAMES}` };
  if (has("tox.ini")) return { command: "tox" };
  if (has("Cargo.toml")) return { command: "cargo test", line: "cargo test --no-fail-fast" };
  if (has("go.mod")) return { command: "go test ./...", line: "go test -v ./..." };
  if (has("Gemfile") && has("spec")) return { command: "bundle exec rspec" };
  if (has("pom.xml")) return { command: has("mvnw") ? "./mvnw -q test" : "mvn -q test" };
  if (has("build.gradle") || has("build.gradle.kts"))
    return { command: has("gradlew") ? "./gradlew test" : "gradle test" };
  if (has("composer.json") && (has("phpunit.xml") || has("phpunit.xml.dist")))
    return { command: "vendor/bin/phpunit", ...(has("vendor") ? {} : { missing: "vendor" }) };
  if (has("deno.json") || has("deno.jsonc")) return { command: "deno test -A" };
  if (hasTarget(files, "test")) return { command: "make test" };
  if (hasTarget(files, "check")) return { command: "make check" };
  return null;
}

function findLint(files: ProjectFiles): FoundCommand | null {
  const script = findPackageLint(files);
  if (script !== null) return script;
  const python = pythonSettings(files);
  if (/^\[tool\.ruff/m.test(python) || files.names.includes("ruff.toml")) return { command: "ruff check ." };
  if (/^\[flake8\]/m.test(python) || files.names.includes(".flake8")) return { command: "flake8" };
  return hasTarget(files, "lint") ? { command: "make lint" } : null;
}

/** The project's own, else the one of the machine, under either of its names. */
function python({ names }: ProjectFiles): string {
  const own = [".venv", "venv"].find((name) => names.includes(name));
  return own === undefined ? '"$(command -v python || command -v python3)"' : `${own}/bin/python`;
}

function isPython({ names }: ProjectFiles): boolean {
  return names.some((name) =>
    /^(?:pyproject\.toml|setup\.(?:py|cfg)|requirements.*\.txt|.*\.py)$/.test(name),
  );
}

function hasPytest(files: ProjectFiles): boolean {
  const { names } = files;
  return (
    names.includes("pytest.ini") || names.includes("conftest.py") || /pytest/.test(pythonSettings(files))
  );
}

function hasTestFile({ names }: ProjectFiles): boolean {
  return names.some((name) => /^(?:test_.*|.*_test)\.py$/.test(name));
}

function pythonSettings({ texts }: ProjectFiles): string {
  return [texts["pyproject.toml"], texts["setup.cfg"], texts["tox.ini"]].join("\n");
}

function hasTarget({ texts }: ProjectFiles, name: string): boolean {
  return new RegExp(`^${name}\\s*:(?!=)`, "m").test(texts.Makefile ?? "");
}
