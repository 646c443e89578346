import { type CheckRunner, type FoundCommand, hasName, type ProjectFiles } from "./check-runner.ts";
import { readPytest } from "./pytest.ts";
import { readUnittest } from "./unittest.ts";

/** Passed tests before the failed ones, so that the end of the output shows what matters. */
const PYTEST_NAMES = "-rpxXsfE";

/** Another copy of the package may be installed; the one below `src` is the one to test. */
const OWN_SOURCES = `PYTHONPATH="$PWD/src\${PYTHONPATH:+:$PYTHONPATH}" `;

/** pytest over the project's own copy of its package; below it without a conftest that cannot be loaded, and unittest. */
function findPytest(files: ProjectFiles): FoundCommand {
  const own = files.names.includes("src") ? OWN_SOURCES : "";
  const run = `${own}${pythonProgram(files)}`;
  const flags = `-q ${PYTEST_NAMES} --continue-on-collection-errors`;
  return {
    command: "python -m pytest -q",
    line: `${run} -m pytest ${flags}`,
    instead: [
      // Options of the project's own may need a plugin that is not there.
      { command: "python -m pytest -q -o addopts=", line: `${run} -m pytest ${flags} -o addopts=` },
      { command: "python -m pytest -q --noconftest", line: `${run} -m pytest ${flags} --noconftest` },
      findUnittest(files, run),
    ],
  };
}

/** Without a package of tests, discovery from the root finds nothing: the folder is named. */
function findUnittest(files: ProjectFiles, run: string): { command: string; line: string } {
  const folder =
    ["tests", "test"].find((name) => hasName(files, name)) ??
    (testsBelow(files).length > 0 ? "src" : undefined);
  const call = folder === undefined ? "-m unittest -v" : `-m unittest discover -v -s ${folder}`;
  return { command: `python ${call}`, line: `${run} ${call}` };
}

/** The project's own, else the one of the machine, under either of its names. */
function pythonProgram({ names }: ProjectFiles): string {
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

/** Tests in the folders where they are kept. */
function testsBelow({ below = [] }: ProjectFiles): readonly string[] {
  return below.filter((path) => /\/(?:test_[^/]*|[^/]*_test)\.py$/.test(path));
}

function pythonSettings({ texts }: ProjectFiles): string {
  return [texts["pyproject.toml"], texts["setup.cfg"], texts["tox.ini"]].join("\n");
}

/** pytest and unittest, ruff and flake8. */
export const python: CheckRunner = {
  name: "python",
  reads: ["pyproject.toml", "setup.cfg", "tox.ini"],
  findTest(files) {
    const tested = ["tests", "test"].some((name) => hasName(files, name)) || hasTestFile(files);
    return isPython(files) && (hasPytest(files) || tested) ? findPytest(files) : null;
  },
  findLint(files) {
    const settings = pythonSettings(files);
    if (/^\[tool\.ruff/m.test(settings) || hasName(files, "ruff.toml")) return { command: "ruff check ." };
    return /^\[flake8\]/m.test(settings) || hasName(files, ".flake8") ? { command: "flake8" } : null;
  },
  findInstall(files) {
    if (!isPython(files)) return null;
    const listed = ["requirements-dev.txt", "dev-requirements.txt", "requirements.txt"].find((name) =>
      hasName(files, name),
    );
    if (listed !== undefined) return `python -m pip install -r ${listed} pytest`;
    return hasName(files, "pyproject.toml") || hasName(files, "setup.py")
      ? "python -m pip install -e . pytest"
      : "python -m pip install pytest";
  },
  programs: ["ruff", "flake8"],
  calls: [/^(?:python3? -m )?(?:pytest|unittest|ruff check|flake8|mypy)(?: |$)/],
  readers: [readPytest, readUnittest],
  testPaths: [/(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/],
  decidedBy: [
    /(?:^|\/)\.coveragerc$/,
    /(?:^|\/)(?:conftest\.py|pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|sitecustomize\.py|usercustomize\.py)$/,
    /(?:^|\/)\.pth$/,
  ],
};

/** tox, where nothing says that pytest would do. */
export const tox: CheckRunner = {
  name: "tox",
  findTest(files) {
    if (!hasName(files, "tox.ini")) return null;
    const { instead = [], ...pytest } = findPytest(files);
    return { command: "tox", instead: [{ line: pytest.command, ...pytest }, ...instead] };
  },
  programs: ["tox"],
  calls: [/^tox(?: |$)/],
};

/** Tests in a folder of a project whose root says nothing of any language. */
export const pythonTests: CheckRunner = {
  name: "python-tests",
  findTest: (files) => (testsBelow(files).length > 0 ? findPytest(files) : null),
  findInstall: (files) => (testsBelow(files).length > 0 ? "python -m pip install pytest" : null),
};
