/** The content of a project's root, as far as it shows how the project is checked. */
export interface ProjectFiles {
  /** Names in the root folder. */
  readonly names: readonly string[];
  /** Texts of the few files that were read. */
  readonly texts: Readonly<Record<string, string>>;
  /** Names in `node_modules/.bin`; left out where nobody looked. */
  readonly programs?: readonly string[];
}

export interface ProjectCheck {
  readonly kind: "test" | "lint";
  /** As people type it, and as they are told. */
  readonly command: string;
  /** The line that is run: the command, asked to name every test where the tool can. */
  readonly line: string;
  /** A folder of dependencies, or a program of them, that is not there, so that the check cannot run here. That is not red. */
  readonly missing?: string;
  /** The replacements where it cannot validate or names no test; the first that can is used. */
  readonly instead?: readonly CheckRung[];
  /** The call of its test runner alone, to which files can be given; left out where it is the line, or nobody knows it. */
  readonly runner?: string;
}

export interface CheckRung extends Pick<ProjectCheck, "command" | "line"> {
  /** It does less, so that it is worth a try where the whole does not end in time. */
  readonly isShorter?: true;
}

/** One simple call of a script, and the program that it needs. */
interface ScriptCall {
  readonly text: string;
  readonly program: string;
}

interface ScriptChain {
  readonly calls: readonly ScriptCall[];
  /** The scripts that it runs, with its own. */
  readonly scripts: readonly string[];
}

type Scripts = Readonly<Record<string, string | undefined>>;

const OTHER_SCRIPT = /^(?:npm|pnpm|yarn|bun)(?: run(?:-script)?)?(?: (?:-s|--silent))* ([\w:.-]+)$/;
/** A program of the dependencies, called through a package manager: the program is what counts. */
const MANAGED = /^(?:(?:pnpm|yarn)(?: exec)?|npx(?: --no-install| -y| --yes)*|bunx|bun x) +(?=[a-z])/;
const VARIABLES = /^(?:(?:[A-Za-z_]\w*=\S+|cross-env|npx|--no-install|-y|--yes) +)*/;

/**
 * The commands that a script of a `package.json` runs: its `pre` and `post` scripts and the scripts that it
 * runs, call by call.
 */
function scriptChain(scripts: Scripts, name: string, seen: readonly string[] = []): ScriptChain {
  if (seen.includes(name)) return { calls: [], scripts: [] };
  const path = [...seen, name];
  const texts = [`pre${name}`, name, `post${name}`].flatMap((key) => scripts[key] ?? []);
  const parts = texts.flatMap((text) => text.split("&&")).map((part) => part.trim());
  const chains = parts.map((text): ScriptChain => {
    const other = OTHER_SCRIPT.exec(text)?.[1];
    if (other !== undefined && scripts[other] !== undefined) return scriptChain(scripts, other, path);
    const bare = text.replace(MANAGED, "");
    const [program = ""] = bare.replace(VARIABLES, "").split(/\s/, 1);
    return { calls: [{ text: bare, program }], scripts: [] };
  });
  return {
    calls: chains.flatMap(({ calls }) => calls),
    scripts: [name, ...chains.flatMap((chain) => chain.scripts)],
  };
}

const SCRIPT_RUNNERS = [
  "tape",
  "mocha",
  "jest",
  "vitest",
  "ava",
  "tap",
  "uvu",
  "jasmine",
  "node",
  "tsx",
  "ts-node",
];
const EVERYWHERE = ["node", "npm", "sh", "bash", "make", "echo", "true", "test", "mkdir", "rm", "cp", "git"];
const COVERAGE = /^(?:nyc|c8)(?: +--?\S+)* +/;

interface Installed {
  /** Everything that the chain needs is there. */
  readonly isWhole: boolean;
  /** The calls of test runners that can run, without a measurement of coverage that is not installed. */
  readonly tests: readonly string[];
  /** The first program that is not there. */
  readonly missing: string | null;
}

/** How much of a chain can run with these programs of `node_modules/.bin`. */
function installedOf({ calls }: ScriptChain, programs: readonly string[]): Installed {
  const isThere = (program: string) => programs.includes(program) || EVERYWHERE.includes(program);
  const missing = calls.find(({ program }) => !isThere(program))?.program ?? null;
  const tests = calls.flatMap(({ text, program }) => {
    const bare = isThere(program) ? text : text.replace(COVERAGE, "");
    const [runner = ""] = bare.replace(VARIABLES, "").replace(COVERAGE, "").split(/\s/, 1);
    return SCRIPT_RUNNERS.includes(runner) && isThere(runner) ? [bare] : [];
  });
  return { isWhole: missing === null, tests, missing };
}

type FoundScript = Pick<ProjectCheck, "command" | "missing" | "instead"> & { readonly line?: string };

/** The tests of a `package.json`: its script, or the runner that stands among its dependencies. */
function findPackageTest(files: ProjectFiles): FoundScript | null {
  const { name, missing } = packageManager(files);
  const script = scriptsOf(files).test;
  if (script !== undefined && !/no test specified/.test(script)) {
    const part = missing.missing === undefined ? installedPart(files) : null;
    if (part !== null) return part;
    const command = name === "bun" ? "bun run test" : `${name} test`;
    const more = namesEveryTest(script);
    return {
      command,
      ...(more === null ? {} : { line: `${command}${ownFlags(name)} ${more}` }),
      ...missing,
      ...partsOfScript(files),
    };
  }
  const used = dependenciesOf(files);
  if (used.includes("vitest"))
    return { command: "npx vitest run", line: "npx vitest run --reporter=verbose", ...missing };
  if (used.includes("jest")) return { command: "npx jest", line: "npx jest --verbose", ...missing };
  return used.includes("mocha") ? { command: "npx mocha", ...missing } : null;
}

/** The test runners of the script alone, with the dependencies' own programs and without its package manager. */
function partsOfScript(files: ProjectFiles): Pick<ProjectCheck, "instead"> {
  if (files.programs === undefined) return {};
  const chain = scriptChain(scriptsOf(files), "test");
  const { tests } = installedOf(chain, files.programs);
  const command = tests.join(" && ");
  if (command === "") return {};
  const line = withOwnPrograms(namingTests(tests));
  return {
    instead: [{ command, line, ...(tests.length < chain.calls.length && { isShorter: true as const }) }],
  };
}

/** The one call of a test runner that the script comes down to, with the dependencies' own programs. */
function runnerOfScript(files: ProjectFiles): string | null {
  if (scriptsOf(files).test === undefined) return null;
  const { tests } = installedOf(scriptChain(scriptsOf(files), "test"), files.programs ?? []);
  const [one] = tests;
  if (one === undefined || tests.length > 1) return null;
  return withOwnPrograms(namingTests([one.replace(COVERAGE, "")]));
}

function namingTests(tests: readonly string[]): string {
  return tests
    .map((text) => [text, namesEveryTest(text)].filter((part) => part !== null).join(" "))
    .join(" && ");
}

function withOwnPrograms(command: string): string {
  return `export PATH="$PWD/node_modules/.bin:$PATH"; ${command}`;
}

/** Where the script needs what is not installed: its tests alone, if those can run. */
function installedPart(files: ProjectFiles): FoundScript | null {
  if (files.programs === undefined) return null;
  const { isWhole, tests, missing } = installedOf(scriptChain(scriptsOf(files), "test"), files.programs);
  if (isWhole || missing === null) return null;
  const command = tests.join(" && ");
  if (command === "") return { command: "npm test", missing };
  return { command, line: withOwnPrograms(namingTests(tests)) };
}

/** The linter of a `package.json`, unless its tests run it as well. */
function findPackageLint(files: ProjectFiles): FoundScript | null {
  const scripts = scriptsOf(files);
  if (scripts.lint === undefined) return null;
  if (
    findPackageTest(files)?.command.endsWith(" test") &&
    scriptChain(scripts, "test").scripts.includes("lint")
  )
    return null;
  const { name, missing } = packageManager(files);
  const absent = files.programs && installedOf(scriptChain(scripts, "lint"), files.programs).missing;
  return { command: `${name} run lint`, ...(absent == null ? missing : { missing: absent }) };
}

/** Flags that make a script name its tests; only for a script that is one plain call of the runner. */
function namesEveryTest(script: string): string | null {
  const call = /^(?:[A-Z_]+=\S+ +|cross-env +)*(?:npx +)?(jest|vitest)(?: [^&|;<>()`$]*)?$/.exec(
    script.trim(),
  );
  if (call === null || /--(?:reporter|silent|json|verbose|watch)/.test(script)) return null;
  return call[1] === "jest" ? "--verbose" : "--reporter=verbose";
}

/** npm reads flags before `--` as its own; the others hand them on. */
function ownFlags(manager: string): string {
  return manager === "npm" ? " --" : "";
}

interface PackageManager {
  readonly name: "npm" | "pnpm" | "yarn" | "bun";
  /** Empty where dependencies are installed, or none are needed. */
  readonly missing: { readonly missing?: string };
}

function packageManager(files: ProjectFiles): PackageManager {
  const has = (name: string) => files.names.includes(name);
  const installed = has("node_modules") || has(".pnp.cjs") || has(".pnp.js");
  return {
    name: managerName(has),
    missing: installed || dependenciesOf(files).length === 0 ? {} : { missing: "node_modules" },
  };
}

function managerName(has: (name: string) => boolean): PackageManager["name"] {
  if (has("pnpm-lock.yaml")) return "pnpm";
  if (has("yarn.lock")) return "yarn";
  return has("bun.lock") || has("bun.lockb") ? "bun" : "npm";
}

function scriptsOf(files: ProjectFiles): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(mapIn(files, "scripts")).filter(([, script]) => typeof script === "string"),
  ) as Record<string, string>;
}

function dependenciesOf(files: ProjectFiles): string[] {
  return [...Object.keys(mapIn(files, "dependencies")), ...Object.keys(mapIn(files, "devDependencies"))];
}

/** A `package.json` that is no JSON has nothing. */
function mapIn({ texts }: ProjectFiles, key: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(texts["package.json"] ?? "{}");
    const value = (read as Record<string, unknown> | null)?.[key];
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Programs that a line can be called by alone; whatever else stands first may be made by the project itself. */
const PLAIN_PROGRAMS =
  /^(npm|pnpm|yarn|bun|npx|tox|cargo|go|bundle|rake|mvn|gradle|deno|make|cmake|ruff|flake8)(?: |$)/;

/** The program without which a line cannot begin; null where that cannot be told from the line. */
export function neededProgram(line: string): string | null {
  return PLAIN_PROGRAMS.exec(line)?.[1] ?? null;
}

/** The command that installs what the project's checks need, as its own files say; null where they do not. */
export function findInstall(files: ProjectFiles): string | null {
  const has = (name: string) => files.names.includes(name);
  if (has("package.json")) {
    const { name } = packageManager(files);
    if (name !== "npm") return `${name} install`;
    return has("package-lock.json") || has("npm-shrinkwrap.json") ? "npm ci" : "npm install";
  }
  const listed = ["requirements-dev.txt", "dev-requirements.txt", "requirements.txt"].find(has);
  if (isPython(files)) {
    if (listed !== undefined) return `python -m pip install -r ${listed} pytest`;
    return has("pyproject.toml") || has("setup.py")
      ? "python -m pip install -e . pytest"
      : "python -m pip install pytest";
  }
  if (has("Gemfile")) return "bundle install";
  return has("composer.json") ? "composer install" : null;
}

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
  const isScript = configured === null || /^(?:npm|pnpm|yarn|bun)(?: run)? test$/.test(configured);
  const runner = isScript ? runnerOfScript(files) : null;
  return [
    ...(test === null
      ? []
      : [
          {
            kind: "test" as const,
            line: test.command,
            ...test,
            ...(runner !== null && runner !== test.line && { runner }),
          },
        ]),
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
    return findPytest(files);
  if (has("tox.ini")) {
    const { instead = [], ...pytest } = findPytest(files);
    return { command: "tox", instead: [{ line: pytest.command, ...pytest }, ...instead] };
  }
  if (has("Cargo.toml"))
    return { command: "cargo test", line: "cargo test --no-fail-fast", instead: CARGO_PARTS };
  if (has("go.mod")) return { command: "go test ./...", line: "go test -v ./..." };
  if (has("Gemfile") && has("spec")) return { command: "bundle exec rspec" };
  if (has("Rakefile") && has("test"))
    return { command: has("Gemfile") ? "bundle exec rake test" : "rake test" };
  if (has("pom.xml")) return { command: has("mvnw") ? "./mvnw -q test" : "mvn -q test" };
  if (has("build.gradle") || has("build.gradle.kts"))
    return { command: has("gradlew") ? "./gradlew test" : "gradle test" };
  if (has("composer.json") && (has("phpunit.xml") || has("phpunit.xml.dist")))
    return { command: "vendor/bin/phpunit", ...(has("vendor") ? {} : { missing: "vendor" }) };
  if (has("deno.json") || has("deno.jsonc")) return { command: "deno test -A" };
  if (hasTarget(files, "test")) return { command: "make test" };
  if (hasTarget(files, "check")) return { command: "make check" };
  if (has("CMakeLists.txt")) return { command: "ctest", line: CTEST };
  return findTestTarget(files);
}

/** Without the tests that lie beside the sources, which may compile for minutes. */
const CARGO_PARTS = [
  {
    command: "cargo test --lib --bins",
    line: "cargo test --offline --no-fail-fast --lib --bins",
    isShorter: true,
  },
] as const;

/** Built outside the sources, in a view that is thrown away. */
const CTEST =
  'b="$(mktemp -d)" && cmake -S . -B "$b" >/dev/null && cmake --build "$b" >/dev/null && ctest --test-dir "$b" -V';

/** A target that is called a test of something, and the program of that name, where it makes one. */
function findTestTarget({ texts }: ProjectFiles): FoundCommand | null {
  const [, target] = /^([\w-]*test[\w-]*)\s*:(?!=)/m.exec(texts.Makefile ?? "") ?? [];
  if (target === undefined) return null;
  return {
    command: `make ${target}`,
    line: `make ${target} && { [ ! -f ./${target} ] || [ ! -x ./${target} ] || ./${target}; }`,
  };
}

/** Another copy of the package may be installed; the one below `src` is the one to test. */
const OWN_SOURCES = `PYTHONPATH="$PWD/src\${PYTHONPATH:+:$PYTHONPATH}" `;

/** pytest over the project's own copy of its package; below it without a conftest that cannot be loaded, and unittest. */
function findPytest(files: ProjectFiles): FoundCommand {
  const own = files.names.includes("src") ? OWN_SOURCES : "";
  const run = `${own}${python(files)}`;
  const flags = `-q ${PYTEST_NAMES} --continue-on-collection-errors`;
  return {
    command: "python -m pytest -q",
    line: `${run} -m pytest ${flags}`,
    instead: [
      { command: "python -m pytest -q --noconftest", line: `${run} -m pytest ${flags} --noconftest` },
      findUnittest(files, run),
    ],
  };
}

/** Without a package of tests, discovery from the root finds nothing: the folder is named. */
function findUnittest({ names }: ProjectFiles, run: string): { command: string; line: string } {
  const folder = ["tests", "test"].find((name) => names.includes(name));
  const call = folder === undefined ? "-m unittest -v" : `-m unittest discover -v -s ${folder}`;
  return { command: `python ${call}`, line: `${run} ${call}` };
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
