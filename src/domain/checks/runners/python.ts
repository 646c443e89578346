import names from "../names.json" with { type: "json" };
import { type CheckRunner, type FoundCommand, hasName, type ProjectFiles } from "./check-runner.ts";
import { readPytest } from "./pytest.ts";
import { readUnittest } from "./unittest.ts";

/** Passed before failed, so that the end shows what matters; these names remain where the project's options take away `-v`. */
const PYTEST_NAMES = "-rpxXsfE";

/** Another copy of the package may be installed; the one below `src` is the one to test. */
const OWN_SOURCES = `PYTHONPATH="$PWD/src\${PYTHONPATH:+:$PYTHONPATH}" `;

/** pytest over the project's own copy of its package; below it without a conftest that cannot be loaded, and unittest. */
function findPytest(files: ProjectFiles): FoundCommand {
  const own = files.names.includes("src") ? OWN_SOURCES : "";
  const run = `${own}${pythonProgram(files)}`;
  const flags = `-v ${PYTEST_NAMES} --continue-on-collection-errors`;
  const only = uncollectedTests(files);
  const pytest = (...options: readonly string[]) => ({
    command: ["python -m pytest -q", ...options, ...only].join(" "),
    line: [run, "-m pytest", flags, ...options, ...only].join(" "),
  });
  return {
    ...pytest(),
    // Options of the project's own may need a plugin that is not there.
    instead: [pytest("-o addopts="), pytest("--noconftest"), findUnittest(files, run)],
  };
}

/** A tool of Python as a module of the project's own Python; pytest names its tests. */
export function pythonLine(files: ProjectFiles, tool: string, args: readonly string[]): string {
  const own = files.names.includes("src") ? OWN_SOURCES : "";
  const named = args.filter((word) => !/^(?:-q+|--quiet|-v+)$/.test(word));
  const flags = tool === "pytest" ? ["-v", PYTEST_NAMES, "--continue-on-collection-errors", ...named] : args;
  return [`${own}${pythonProgram(files)} -m ${tool}`, ...flags].join(" ");
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
  const isSetUp = ["pytest.ini", "conftest.py"].some((name) => hasName(files, name));
  return isSetUp || /pytest/.test(pythonSettings(files));
}

const TEST_FILE = /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/;

/** Tests that pytest collects by their names. */
function hasTests({ names }: ProjectFiles): boolean {
  return names.some((name) => name === "tests" || name === "test" || TEST_FILE.test(name));
}

/** Tests in the root that pytest runs only if it is given their names; none where anything else says what is to be tested. */
function uncollectedTests(files: ProjectFiles): readonly string[] {
  const hasOthers = hasTests(files) || testsBelow(files).length > 0;
  const isConfigured = hasPytest(files) && /testpaths|python_files/.test(pythonSettings(files));
  const isSetUp = ["pytest.ini", "conftest.py", "tox.ini"].some((name) => hasName(files, name));
  if (hasOthers || isConfigured || isSetUp) return [];
  const isTest = (text = "") => /^(?:import|from) (?:unittest|pytest)\b/m.test(text);
  return ["test.py", "tests.py"].filter((name) => isTest(files.texts[name]));
}

/** Tests in the folders where they are kept. */
function testsBelow({ below = [] }: ProjectFiles): readonly string[] {
  return below.filter((path) => TEST_FILE.test(path));
}

function pythonSettings({ texts }: ProjectFiles): string {
  return [texts["pyproject.toml"], texts["setup.cfg"], texts["tox.ini"]].join("\n");
}

/** A linter of the project's environment, else the one on the PATH. */
function ownLint({ below = [] }: ProjectFiles, command: string): FoundCommand {
  const places = [".venv", "venv"].map((name) => `${name}/bin/${command}`);
  return { command, line: places.find((place) => below.includes(place.split(" ", 1)[0] ?? "")) ?? command };
}

/** pytest in one process and without coverage, where options of the project's settings ask for those. */
function cheapenPytest(line: string, settings: string): string | null {
  if (!/ -m pytest /.test(line)) return null;
  const options = [...settings.matchAll(/^\s*addopts\s*=([^\n]*(?:\n[ \t"']+[^\n]*)*)/gm)].join(" ");
  const flags = [
    ...(/(?:^|[\s"'])(?:-n|--numprocesses)[ =]?(?:auto|logical|[1-9])/.test(options) ? ["-n0"] : []),
    ...(/(?:^|[\s"'])--cov(?![\w-]*fail)/.test(options) ? ["--no-cov"] : []),
  ];
  return [line, ...flags].join(" ");
}

/** pytest and unittest, ruff and flake8. */
export const python: CheckRunner = {
  name: "python",
  reads: ["pyproject.toml", "setup.cfg", "tox.ini", "test.py", "tests.py"],
  findTest(files) {
    const isTested = hasPytest(files) || hasTests(files) || uncollectedTests(files).length > 0;
    return isPython(files) && isTested ? findPytest(files) : null;
  },
  findLint(files) {
    const settings = pythonSettings(files);
    if (/^\[tool\.ruff/m.test(settings) || hasName(files, "ruff.toml")) return ownLint(files, "ruff check .");
    return /^\[flake8\]/m.test(settings) || hasName(files, ".flake8") ? ownLint(files, "flake8") : null;
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
  cheapen: cheapenPytest,
  shadowedBy: shadowsRunner,
  testPaths: [/(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/],
  decidedBy: [
    /(?:^|\/)\.coveragerc$/,
    /(?:^|\/)(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|(?:site|user)customize(?:\.pyc?|\.[\w-]+\.so|\/.+))$/,
    // Entry points beside the modules load plugins of pytest, and Python runs lines of `.pth` files at its start.
    /(?:\.(?:egg|dist)-info|(?:^|\/)EGG-INFO)\/entry_points\.txt$/,
    /^(?:src\/|.+\/(?:site|dist)-packages\/)?[^/]*\.pth$/,
    /(?:^|\/)\.?venv\/(?:bin\/.+|pyvenv\.cfg)$/,
  ],
};

/** Python's own modules and those of pytest and its plugins: a file of that name in the root answers in their place. */
const RUNNER_MODULES: ReadonlySet<string> = new Set(names.modules);

/** Whether a new file, in the root or in `src`, shadows a module of the test runner or of Python. */
function shadowsRunner(path: string): boolean {
  const [, module = ""] = /^(?:src\/)?(\w+)(?:\.pyc?|\.[\w-]+\.so|\.so|\/.+)$/.exec(path) ?? [];
  return /\.(?:pyc?|so)$/.test(path) && RUNNER_MODULES.has(module);
}

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
