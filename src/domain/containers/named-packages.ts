/** What a project's files ask for by name, read without running anything of it. */

interface Manifest {
  readonly scripts?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly devDependencies?: Readonly<Record<string, unknown>>;
}

const NAMED_NPM_NAME = /^(?:@[\w.-]+\/)?[\w.-]+$/;

function manifestOf(text: string): Manifest {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
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

/** The name that a line of a requirements file begins with. */
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
    (/\bGET https?:\/\//.test(line) && new RegExp(`${escaped(url)}(?:\\s|$|/-/)`, "i").test(line))
  );
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
