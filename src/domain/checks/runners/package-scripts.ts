import { attemptOr } from "../../platform/error-text.ts";
import names from "../names.json" with { type: "json" };
import {
  type CheckRunner,
  type FoundCommand,
  hasName,
  type ProjectCheck,
  type ProjectFiles,
} from "./check-runner.ts";
import { readJest, readMocha, readNodeSpec, readVitest } from "./javascript.ts";

/** One simple call of a script, and the program that it needs. */
interface ScriptCall {
  /** As the script has it. */
  readonly whole: string;
  readonly text: string;
  readonly program: string;
}

interface ScriptChain {
  readonly calls: readonly ScriptCall[];
  /** The scripts that it runs, with its own. */
  readonly scripts: readonly string[];
}

type Scripts = Readonly<Record<string, string | undefined>>;

const OTHER_SCRIPT =
  /^(?:npm|pnpm|yarn|bun)(?: run(?:-script)?)?(?: (?:-s|--silent))* ([\w:.-]+)(?: --( .+))?$/;
/** A program of the dependencies, called through a package manager: the program is what counts. */
const MANAGED = /^(?:(?:pnpm|yarn)(?: exec)?|npx(?: --no-install| -y| --yes)*|bunx|bun x) +(?=[a-z])/;
/** Loads the package manager first, for which a check has no network. */
const COREPACK = /^corepack +(?=(?:npm|pnpm|yarn)\b)/;
/** Outside of quotes. */
const BETWEEN_CALLS = /&&(?=(?:\\.|[^"'\\]|"(?:\\.|[^"\\])*"|'[^']*')*$)/s;
export const VARIABLES = /^(?:(?:[A-Za-z_]\w*=\S+|cross-env|npx|--no-install|-y|--yes) +)*/;

/** The commands of a script of `package.json`, with its `pre` and `post` scripts and the scripts that it runs, call by call. */
function scriptChain(
  scripts: Scripts,
  name: string,
  seen: readonly string[] = [],
  handedOn = "",
): ScriptChain {
  if (seen.includes(name)) return { calls: [], scripts: [] };
  const path = [...seen, name];
  const own = scripts[name] === undefined ? [] : [`${scripts[name]}${handedOn}`];
  const texts = [scripts[`pre${name}`] ?? [], own, scripts[`post${name}`] ?? []].flat();
  const parts = texts.flatMap((text) => text.split(BETWEEN_CALLS)).map((part) => part.trim());
  const chains = parts.map((whole): ScriptChain => {
    const text = whole.replace(COREPACK, "");
    const [, other = "", more] = OTHER_SCRIPT.exec(text) ?? [];
    if (scripts[other] !== undefined) return scriptChain(scripts, other, path, more);
    const bare = text.replace(MANAGED, "");
    const [program = ""] = bare.replace(VARIABLES, "").split(/\s/, 1);
    return { calls: [{ whole, text: bare, program }], scripts: [] };
  });
  return {
    calls: chains.flatMap(({ calls }) => calls),
    scripts: [name, ...chains.flatMap((chain) => chain.scripts)],
  };
}

const SCRIPT_RUNNERS = "tape mocha jest vitest ava tap uvu jasmine node tsx ts-node".split(" ");
const RUNS_ANYTHING = /^(?!.* --test\b)\S*(?:node|tsx|ts-node)\s/;
/** Programs that every machine has, and what a shell does itself. */
const EVERYWHERE: readonly string[] = names.everywhere;
const COVERAGE = /^(?:nyc|c8)(?: +--?\S+)* +/;
/** Calls that only look: tests do not need them. */
const LOOKS =
  /^(?:eslint|gts|prettier|biome|xo|standard|tslint|oxlint|stylelint|knip|depcheck|echo|(?:npm|pnpm|yarn|bun) (?!run))\b|^tsc\b.* --noEmit\b/;

/** How much of a chain can run with the programs of `node_modules/.bin` and of the machine. */
function installedOf({ calls }: ScriptChain, { programs = [], isOnPath }: ProjectFiles) {
  const isThere = (program: string) =>
    programs === "linked" ||
    programs.includes(program) ||
    EVERYWHERE.includes(program) ||
    /^[^\w@]|\//.test(program) ||
    isOnPath?.(program) === true;
  const called = calls.map(({ whole, text, program }) => {
    const bare = isThere(program) ? text : text.replace(COVERAGE, "");
    const [runner = ""] = bare.replace(VARIABLES, "").replace(COVERAGE, "").split(/\s/, 1);
    const canRun = isThere(program) || (bare !== text && isThere(runner));
    const runs = canRun && SCRIPT_RUNNERS.includes(runner) && isThere(runner);
    return { whole, bare, program, canRun, runs, isPlain: RUNS_ANYTHING.test(bare) };
  });
  // `node make.mjs && mocha`: a program that runs any file tests only where nothing else does.
  const hasRunner = called.some(({ runs, isPlain }) => runs && !isPlain);
  const read = called.map((one) => ({ ...one, isTest: one.runs && !(hasRunner && one.isPlain) }));
  const firstTest = read.findIndex(({ isTest }) => isTest);
  return {
    /** Those that can run, without a measurement of coverage that is not installed. */
    calls: read.flatMap(({ bare, canRun }) => (canRun ? [bare] : [])),
    /** Those before the first test that make something. */
    builds: read
      .slice(0, firstTest)
      .flatMap(({ bare, canRun }) => (canRun && !LOOKS.test(bare) ? [bare] : [])),
    tests: read.flatMap(({ bare, isTest }) => (isTest ? [bare] : [])),
    leftOut: read.flatMap(({ whole, canRun }) => (canRun ? [] : [whole])),
    missing: read.find(({ program }) => !isThere(program))?.program ?? null,
  };
}

/** The tests of a `package.json`: its script, or the runner among its dependencies. */
function findPackageTest(files: ProjectFiles): FoundCommand | null {
  const { name, missing } = packageManager(files);
  const script = scriptsOf(files).test;
  if (script !== undefined && !/no test specified/.test(script)) {
    const part = missing.missing === undefined ? installedPart(files) : null;
    if (part !== null) return part;
    const command = name === "bun" ? "bun run test" : `${name} test`;
    const line = namingLine(files, command);
    const parts = partsOfScript(files);
    const build = findBuild(files);
    if (build === null) return { command, line, ...missing, ...parts };
    return {
      command: `${name} run ${build.name} && ${command}`,
      line: withOwnPrograms(line, build.calls),
      ...missing,
      instead: [{ command, line }, ...(parts.instead ?? [])],
    };
  }
  const used = dependenciesOf(files);
  const command = ["npx vitest run", "npx jest", "npx mocha"].find((call) =>
    used.includes(call.split(" ")[1] ?? ""),
  );
  return command === undefined ? null : { command, line: nameTests(command), ...missing };
}

/** The script that makes what the tests load, where the script that tests does not run it; null where there is none. */
function findBuild(files: ProjectFiles): { readonly name: string; readonly calls: readonly string[] } | null {
  const scripts = scriptsOf(files);
  const name = ["build", "compile", "prepare"].find((one) => scripts[one] !== undefined);
  if (name === undefined || files.loadsBuilt !== true) return null;
  if (installedOf(scriptChain(scripts, "test"), files).builds.length > 0) return null;
  const { calls, missing } = installedOf(scriptChain(scripts, name), files);
  return missing === null && calls.length > 0 ? { name, calls } : null;
}

/** The test runners of the script alone, with the dependencies' own programs and without its package manager. */
function partsOfScript(files: ProjectFiles): Pick<ProjectCheck, "instead"> {
  if (files.programs === undefined) return {};
  const chain = scriptChain(scriptsOf(files), "test");
  const { tests } = installedOf(chain, files);
  const command = tests.join(" && ");
  if (command === "") return {};
  const line = withOwnPrograms(tests.map(nameTests).join(" && "));
  return {
    instead: [{ command, line, ...(tests.length < chain.calls.length && { isShorter: true as const }) }],
  };
}

/** The one call of a test runner that the script consists of, with the programs of the dependencies. */
export function runnerOfScript(files: ProjectFiles): string | null {
  if (scriptsOf(files).test === undefined) return null;
  const { tests, builds } = installedOf(scriptChain(scriptsOf(files), "test"), files);
  const [one] = tests;
  if (one === undefined || tests.length > 1) return null;
  // vitest compiles by itself: `tsc && vitest` only looks at the types, unless tests load what tsc has made.
  const makes = (call: string) => !/^vitest\b/.test(one) || files.loadsBuilt === true || !/^tsc\b/.test(call);
  const calls = findBuild(files)?.calls ?? builds.filter(makes);
  return withOwnPrograms(nameTests(one.replace(COVERAGE, "")), calls);
}

/** The text of the script that tests, with those that it calls; null where there is none. */
export function scriptOfTests(files: ProjectFiles): string | null {
  const { calls } = scriptChain(scriptsOf(files), "test");
  return scriptsOf(files).test === undefined ? null : calls.map(({ text }) => text).join(" && ");
}

/** `builds`: calls that must succeed first. */
export function withOwnPrograms(command: string, builds: readonly string[] = []): string {
  const first = builds.length === 0 ? "" : `{ ${builds.join(" && ")}; } || exit; `;
  return `export PATH="$PWD/node_modules/.bin:$PATH"; ${first}${command}`;
}

/** Where a script needs a program (or a package manager) that is not here: its other calls, with the dependencies' own programs. */
function installedPart(files: ProjectFiles, script = "test"): FoundCommand | null {
  if (files.programs === undefined && files.isOnPath === undefined) return null;
  const chain = scriptChain(scriptsOf(files), script);
  const { calls, tests, leftOut, missing } = installedOf(chain, files);
  const { name } = packageManager(files);
  const hasManager =
    !chain.calls.some(({ whole }) => COREPACK.test(whole)) &&
    (name === "npm" || files.isOnPath?.(name) !== false);
  if (missing === null && hasManager) return null;
  const command = calls.join(" && ");
  if (script === "test" ? tests.length === 0 : command === "") {
    if (missing === null) return null;
    const whole = script === "test" ? "npm test" : `${name} run ${script}`;
    // Without dependencies no installation provides the program: the line names it.
    return hasDependencies(files)
      ? { command: whole, missing }
      : { command: whole, line: chain.calls.map((call) => call.whole).join(" && ") };
  }
  return {
    command,
    line: withOwnPrograms(calls.map(nameTests).join(" && ")),
    ...(leftOut.length > 0 && { leftOut }),
    ...(calls.length > tests.length && partsOfScript(files)),
  };
}

/** The linter of a `package.json`, unless its tests run it as well. */
function findPackageLint(files: ProjectFiles): FoundCommand | null {
  const scripts = scriptsOf(files);
  if (scripts.lint === undefined) return null;
  // The test script names the part of it that cannot run.
  if (scriptChain(scripts, "test").scripts.includes("lint")) return null;
  const { name, missing } = packageManager(files);
  const part = missing.missing === undefined ? installedPart(files, "lint") : null;
  return part ?? { command: `${name} run lint`, ...missing };
}

/** Flags that make a runner name its tests in spite of its configuration. jest takes words after its reporters for more reporters. */
const NAMES_TESTS: Readonly<Record<string, string>> = {
  jest: " --reporters=default --verbose",
  vitest: " --reporter=verbose",
  mocha: " --reporter=spec",
  node: "",
};
const RUNNER_CALL =
  /^(?=(?:[^"']|"[^"]*"|'[^']*')*$)(?:[A-Z_]+=\S+ +|cross-env +|npx +|(?:nyc|c8)(?: +--?\S+)* +)*(?:\S*\/\.bin\/)?(jest|vitest|mocha|node(?=.* --test(?: |$)))(?= |$)[^&|;<>()`$]*$/;
/** Other reporters, and flags that wait for the next change. */
const UNNAMED_OR_WATCHING =
  / (?:--reporters(?:[ =][^-\s]\S*)+|(?:-R|--reporter|--test-reporter)[ =]\S+|--(?:silent|verbose|watch(?:All)?)(?:=\S+)?|(?<=\b(?:mocha|vitest)\b.* )-w)(?= |$)/g;
/** A call after which, in one shell, others run elsewhere, otherwise or not at all. */
const NEEDS_OWN_SHELL = /^(?:cd|export|set|source|exit|\.) |[;&|()`$]/;

/** A call of a test runner such that it names every test and ends; any other call as it is. */
export function nameTests(call: string): string {
  const runner = RUNNER_CALL.exec(call)?.[1] ?? "";
  const flags = NAMES_TESTS[runner];
  if (flags === undefined || / --(?:json|test-reporter-destination)\b/.test(call)) return call;
  const bare = call.replace(UNNAMED_OR_WATCHING, "").replace(/(?<=\bvitest) (?:dev|watch)\b/, " run");
  return `${bare}${flags}`;
}

/** The line that runs the script of the tests such that they are named: flags for its last call, or its calls themselves. */
function namingLine(files: ProjectFiles, command: string): string {
  const { calls } = scriptChain(scriptsOf(files), "test");
  const named = calls.map(({ whole, text }) => (nameTests(text) === text ? whole : nameTests(text)));
  const [one, ...others] = calls.filter(({ text }) => nameTests(text) !== text);
  if (one === undefined) return command;
  const flags = nameTests(one.text).slice(one.text.length);
  const isLast = others.length === 0 && scriptsOf(files).test?.trim().endsWith(one.whole) === true;
  // npm reads flags before `--` as its own; the others hand them on.
  if (isLast && nameTests(one.text).startsWith(one.text))
    return `${command}${command.startsWith("npm ") ? " --" : ""}${flags}`;
  const isBound = calls.some(({ text }) => NEEDS_OWN_SHELL.test(text)) || hasName(files, ".pnp.cjs");
  return isBound ? command : withOwnPrograms(named.join(" && "));
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
  if (has("bun.lock") || has("bun.lockb")) return "bun";
  return has("pnpm-workspace.yaml") && !has("package-lock.json") ? "pnpm" : "npm";
}

export function scriptsOf(files: ProjectFiles): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(mapIn(files, "scripts")).filter(([, script]) => typeof script === "string"),
  ) as Record<string, string>;
}

function dependenciesOf(files: ProjectFiles): string[] {
  return [...Object.keys(mapIn(files, "dependencies")), ...Object.keys(mapIn(files, "devDependencies"))];
}

/** Whether an installation may bring a program; tests may do without what the packages of a workspace or peers need. */
function hasDependencies(files: ProjectFiles): boolean {
  const keys = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "workspaces"];
  return (
    hasName(files, "pnpm-workspace.yaml") || keys.some((key) => Object.keys(mapIn(files, key)).length > 0)
  );
}

/** A `package.json` that is not valid JSON counts as empty. */
function mapIn({ texts }: ProjectFiles, key: string): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> | null = attemptOr({}, () => JSON.parse(texts["package.json"] ?? "{}"));
  const value = read?.[key];
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** jest and vitest without coverage, and vitest without its type check: it compiles the whole project. */
function cheapenRunner(line: string, settings: string): string | null {
  const runner = /(?:^|[ /])(vitest|jest)(?= [^&|;<>()`$\n]*$|$)/.exec(line)?.[1];
  const flags = {
    vitest: [
      ...(/\btypecheck\b/.test(settings) ? ["--typecheck.enabled=false"] : []),
      ...(/\bcoverage\s*:/.test(settings) ? ["--coverage.enabled=false"] : []),
    ],
    jest: /\bcollectCoverage\b|--coverage\b/.test(`${settings}${line}`) ? ["--coverage=false"] : [],
  }[runner ?? ""];
  return flags === undefined ? null : [line, ...flags].join(" ");
}

export const packageScripts: CheckRunner = {
  name: "package.json",
  reads: ["package.json"],
  findTest: findPackageTest,
  findLint: findPackageLint,
  findInstall(files) {
    if (!hasName(files, "package.json") || !hasDependencies(files)) return null;
    const { name } = packageManager(files);
    if (name !== "npm") return `${name} install`;
    return hasName(files, "package-lock.json") || hasName(files, "npm-shrinkwrap.json")
      ? "npm ci"
      : "npm install";
  },
  programs: ["npm", "pnpm", "yarn", "bun", "npx"],
  calls: [
    /^(?:npm|pnpm|yarn|bun)(?: run)? (?:t|test|tests|lint|check)(?::[\w-]+)?(?: |$)/,
    /^(?:npx |pnpm exec |yarn )?(?:jest|vitest|mocha|ava|tape|eslint)(?: |$)/,
    /^node --test(?: |$)/,
    /^bun test(?: |$)/,
  ],
  cheapen: cheapenRunner,
  readers: [readNodeSpec, readMocha, readJest, readVitest],
  testPaths: [/\.(?:test|spec|e2e|cy)\.[a-z]+$/i, /(?:^|\/)tests?\.[cm]?[jt]sx?$/, /\.snap$/],
  decidedBy: [
    /(?:^|\/)package\.json$/,
    /(?:^|\/)\.(?:npmrc|yarnrc(?:\.yml)?|pnpmfile\.cjs|mocharc\.\w+|taprc|nycrc(?:\.json)?|c8rc\.json)$/,
    /(?:^|\/)(?:jest|vitest|vite|ava|karma|playwright|cypress|babel|web-test-runner)\.(?:config|setup|workspace)\.\w+$/,
    /(?:^|\/)(?:setup-?tests?|test-?setup|globalSetup|setupFiles?)\.[cm]?[jt]sx?$/i,
    /(?:^|\/)bunfig\.toml$/,
    /(?:^|\/)node_modules\/\.bin\//,
  ],
};
