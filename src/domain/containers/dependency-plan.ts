import { escapePattern } from "../forges/trigger.ts";
import { attemptOr } from "../platform/error-text.ts";
import { isJsonObject, readObject } from "../platform/json-members.ts";
import { gitVariables } from "../policy/git-files.ts";

/** The tools that download; each has a private cache. */
export type Ecosystem =
  | "npm"
  | "pnpm"
  | "yarn"
  | "pip"
  | "uv"
  | "poetry"
  | "pipenv"
  | "conda"
  | "bundler"
  | "composer"
  | "go"
  | "cargo";

/** One installation, as a shell command in the project's folder. */
export interface InstallStep {
  readonly ecosystem: Ecosystem;
  /** The file that calls for it. */
  readonly file: string;
  /** The program it needs; where the image has none, `instead` runs, or nothing does. */
  readonly program: string;
  readonly command: string;
  /** Runs when the first fails: a lock file is out of step, an environment exists already. */
  readonly otherwise?: string;
  readonly instead?: { readonly program: string; readonly command: string };
}

const LEGACY_NPM = "npm install --no-audit --no-fund --no-progress";
const PIP_PROJECT = "pip install --no-input -e .";

interface Rule extends InstallStep {
  /** A second file without which the rule does not hold. */
  readonly also?: string;
}

/** A command begins with the program that it needs. */
const programOf = (command: string) => ({ program: command.split(" ", 1)[0] as string, command });

function rule(
  file: string,
  ecosystem: Ecosystem,
  command: string,
  more: { readonly also?: string; readonly otherwise?: string; readonly instead?: string } = {},
): Rule {
  const { instead, ...rest } = more;
  const other = instead !== undefined && { instead: programOf(instead) };
  return { file, ecosystem, ...programOf(command), ...rest, ...other };
}

/** How each kind of project is installed: the first rule of each group whose file is there. */
const GROUPS: readonly (readonly Rule[])[] = [
  // The environment is created; where it exists already, updated.
  ["condaenv.yaml", "condaenv.yml", "environment.yml", "environment.yaml"].map((file) =>
    rule(file, "conda", `mamba env create --yes --file ${file}`, {
      otherwise: `mamba env update --file ${file}`,
      instead: `conda env create --yes --file ${file} || conda env update --file ${file}`,
    }),
  ),
  [
    rule("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile --reporter=append-only", {
      otherwise: "pnpm install --reporter=append-only",
      instead: LEGACY_NPM,
    }),
    rule("yarn.lock", "yarn", "yarn install --immutable", {
      also: ".yarnrc.yml",
      otherwise: "yarn install",
      instead: LEGACY_NPM,
    }),
    rule("yarn.lock", "yarn", "yarn install --frozen-lockfile --non-interactive", {
      otherwise: "yarn install --non-interactive",
      instead: LEGACY_NPM,
    }),
    ...["package-lock.json", "npm-shrinkwrap.json"].map((file) =>
      rule(file, "npm", "npm ci --no-audit --no-fund --no-progress", { otherwise: LEGACY_NPM }),
    ),
    rule("package.json", "npm", LEGACY_NPM),
  ],
  [
    rule("uv.lock", "uv", "uv sync --frozen", { otherwise: "uv sync", instead: PIP_PROJECT }),
    rule("poetry.lock", "poetry", "poetry install --no-interaction --no-ansi", { instead: PIP_PROJECT }),
    rule("Pipfile.lock", "pipenv", "pipenv sync --dev", { otherwise: "pipenv install --dev" }),
    rule("requirements.txt", "pip", "pip install --no-input -r requirements.txt"),
    rule("pyproject.toml", "pip", PIP_PROJECT),
    rule("setup.py", "pip", PIP_PROJECT),
  ],
  [rule("Gemfile", "bundler", "bundle install --jobs=4 --retry=2")],
  [rule("composer.json", "composer", "composer install --no-interaction --no-progress")],
  [rule("go.mod", "go", "go mod download")],
  [
    rule("Cargo.lock", "cargo", "cargo fetch --locked", { otherwise: "cargo fetch" }),
    rule("Cargo.toml", "cargo", "cargo fetch"),
  ],
];

/** The usual names of files with requirements of tests beside `requirements.txt`. */
const FURTHER_REQUIREMENTS = [
  "requirements-dev.txt",
  "requirements_dev.txt",
  "dev-requirements.txt",
  "requirements-test.txt",
  "test-requirements.txt",
];

/** The steps that a project with these files in its root needs, in order; one for each kind. */
export function planDependencies(files: readonly string[]): readonly InstallStep[] {
  const root = new Set(files);
  const steps = GROUPS.flatMap((rules) => {
    const rule = rules.find(({ file, also }) => root.has(file) && (also === undefined || root.has(also)));
    if (rule === undefined) return [];
    const { also: _, ...step } = rule;
    return [step];
  });
  // An environment file of conda names its own Python packages.
  const conda = steps.some(({ ecosystem }) => ecosystem === "conda");
  return steps
    .filter(({ ecosystem }) => !conda || !PYTHON.has(ecosystem))
    .map((step) => (step.file === "requirements.txt" ? withFurther(step, root) : step));
}

const PYTHON: ReadonlySet<Ecosystem> = new Set(["pip", "uv", "poetry", "pipenv"]);

function withFurther(step: InstallStep, root: ReadonlySet<string>): InstallStep {
  const further = FURTHER_REQUIREMENTS.filter((name) => root.has(name)).map((name) => ` -r ${name}`);
  return { ...step, command: `${step.command}${further.join("")}` };
}

/** Files whose packages can be named one by one, and who installs them. */
export const PINNED_FILES: Readonly<Record<string, Extract<Ecosystem, "npm" | "pip">>> = {
  "package-lock.json": "npm",
  "npm-shrinkwrap.json": "npm",
  "requirements.txt": "pip",
};

const MOST_PINNED_PACKAGES = 5000;
const PINNED_NPM_NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const NPM_VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;
const PIP_PIN =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[A-Za-z0-9,._ -]*\])?\s*==\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)(?=\s*(?:$|[;#\\]|--hash))/;

/**
 * Names and exact versions, as the installer's command line takes them. The file is a stranger's: no address or option of it is
 * passed on, so that it decides what is fetched and never from where. Sorted, each once.
 */
export function pinnedPackages(
  ecosystem: "npm" | "pip",
  text: string,
  { npmRegistry }: { readonly npmRegistry: string | null },
): readonly string[] {
  const found = ecosystem === "npm" ? npmPins(text, npmRegistry) : pipPins(text);
  return [...new Set(found)].sort().slice(0, MOST_PINNED_PACKAGES);
}

/** Without a registry it is unknown which packages are ours, so none is listed. */
function npmPins(text: string, registry: string | null): readonly string[] {
  if (registry === null) return [];
  const indexHost = new URL(registry).host;
  const lock = attemptOr(null, () => JSON.parse(text));
  const packages = isJsonObject(lock) && isJsonObject(lock.packages) ? lock.packages : {};
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (!isJsonObject(entry) || entry.link === true || entry.inBundle === true) return [];
    const at = path.lastIndexOf("node_modules/");
    if (at < 0) return [];
    const name = typeof entry.name === "string" ? entry.name : path.slice(at + "node_modules/".length);
    const { version, resolved } = entry;
    // A package from git, a file or a private index is not the package of that name in PicoClaw's index.
    if (typeof resolved === "string" && hostOf(resolved) !== indexHost) return [];
    return typeof version === "string" && PINNED_NPM_NAME.test(name) && NPM_VERSION.test(version)
      ? [`${name}@${version}`]
      : [];
  });
}

function pipPins(text: string): readonly string[] {
  // The project names where its packages come from: a package of the same name elsewhere must not take their place.
  if (/^\s*(?:--no-index|--index-url|--extra-index-url|--find-links|-i|-f)\b/m.test(text)) return [];
  return text.split(/\r?\n/).flatMap((line) => {
    const pin = PIP_PIN.exec(line.trim());
    return pin === null ? [] : [`${pin[1]?.toLowerCase()}==${pin[2]}`];
  });
}

function hostOf(address: string): string | null {
  return /^https?:/.test(address) && URL.canParse(address) ? new URL(address).host : null;
}

/** The requirements that a project's files name, read without running any of its code. */

type Manifest = Readonly<
  Partial<Record<"scripts" | "dependencies" | "devDependencies", Readonly<Record<string, unknown>>>>
>;

const NAMED_NPM_NAME = /^(?:@[\w.-]+\/)?[\w.-]+$/;

function manifestOf(text: string): Manifest {
  return readObject(attemptOr(null, () => JSON.parse(text)));
}

/** Direct dependencies of a `package.json` with what they ask for. */
export function npmPackages(text: string): ReadonlyMap<string, string> {
  const { dependencies, devDependencies } = manifestOf(text);
  const all = Object.entries({ ...dependencies, ...devDependencies });
  return new Map(
    all.filter(([name]) => NAMED_NPM_NAME.test(name)).map(([name, spec]) => [name, String(spec)]),
  );
}

const CHECK_SCRIPTS = /^(?:(?:pre|post)?test|lint|build|check|typecheck)\b/;
const PROGRAM = /^[a-z][\w.-]*$/i;

/** The programs that a `package.json` starts its tests, linters and builds with. */
export function scriptPrograms(text: string): readonly string[] {
  const lines = Object.entries(manifestOf(text).scripts ?? {}).flatMap(([name, line]) =>
    CHECK_SCRIPTS.test(name) && typeof line === "string" ? line.split(/&&|\|\||[;|&]/) : [],
  );
  const programs = lines.flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const first = words.find((word) => !/^\w+=/.test(word) && word !== "npx" && word !== "cross-env");
    return first !== undefined && PROGRAM.test(first) ? [first] : [];
  });
  return [...new Set(programs)];
}

/** The lines of a requirements file that name one package each. */
export function requirementLines(text: string): readonly string[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s)#.*$/, "").trim())
    .filter((line) => /^[a-z0-9]/i.test(line) && !line.includes("--hash"));
}

export function requirementName(line: string): string {
  return /^[a-z0-9._-]+/i.exec(line)?.[0] ?? line;
}

/** Direct dependencies that npm's words name as the ones that it cannot fetch. */
export function unfetchedPackages(output: string, manifest: string): readonly string[] {
  const lines = output.split("\n");
  return [...npmPackages(manifest)].flatMap(([name, spec]) =>
    lines.some((line) => isBlamed(line, name, spec)) ? [name] : [],
  );
}

function isBlamed(line: string, name: string, spec: string): boolean {
  const [, repository] = /([\w.-]+\/[\w.-]+?)(?:\.git)?(?:#.*)?$/.exec(/[:/]/.test(spec) ? spec : "") ?? [];
  if (repository !== undefined && (/^\w+[+:]|^[\w.-]+\/[\w.-]+$|@/.test(spec) || spec.includes("://")))
    return line.includes(repository) && /error|ERR!|fatal/i.test(line);
  const url = `/${name.replace("/", "%2f")}`;
  return (
    line.includes(`No matching version found for ${name}@`) ||
    line.includes(`'${name}@`) ||
    (/\bGET https?:\/\//.test(line) && new RegExp(`${escapePattern(url)}(?:\\s|$|/-/)`, "i").test(line))
  );
}

const GIT_HOSTS = ["github.com", "gitlab.com", "bitbucket.org"];

/** For installations: an environment has neither ssh nor a key, and what is public can be cloned by HTTPS as well. */
export function gitOverHttps(): Readonly<Record<string, string>> {
  const pairs = GIT_HOSTS.flatMap((host) =>
    [`ssh://git@${host}/`, `git@${host}:`].map((from) => [`url.https://${host}/.insteadOf`, from] as const),
  );
  return gitVariables(pairs);
}
