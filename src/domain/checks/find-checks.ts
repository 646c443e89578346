import type { ProjectCheck, ProjectFiles } from "./project-check.ts";
import { installedOf, scriptChain } from "./script-chain.ts";

type FoundScript = Pick<ProjectCheck, "command" | "missing"> & { readonly line?: string };

/** The tests of a `package.json`: its script, or the runner that stands among its dependencies. */
export function findPackageTest(files: ProjectFiles): FoundScript | null {
  const { name, missing } = packageManager(files);
  const script = scriptsOf(files).test;
  if (script !== undefined && !/no test specified/.test(script)) {
    const part = missing.missing === undefined ? installedPart(files) : null;
    if (part !== null) return part;
    const command = name === "bun" ? "bun run test" : `${name} test`;
    const more = namesEveryTest(script);
    return { command, ...(more === null ? {} : { line: `${command}${ownFlags(name)} ${more}` }), ...missing };
  }
  const used = dependenciesOf(files);
  if (used.includes("vitest"))
    return { command: "npx vitest run", line: "npx vitest run --reporter=verbose", ...missing };
  if (used.includes("jest")) return { command: "npx jest", line: "npx jest --verbose", ...missing };
  return used.includes("mocha") ? { command: "npx mocha", ...missing } : null;
}

/** Where the script needs what is not installed: its tests alone, if those can run. */
function installedPart(files: ProjectFiles): FoundScript | null {
  if (files.programs === undefined) return null;
  const { isWhole, tests, missing } = installedOf(scriptChain(scriptsOf(files), "test"), files.programs);
  if (isWhole || missing === null) return null;
  const command = tests.join(" && ");
  if (command === "") return { command: "npm test", missing };
  return { command, line: `export PATH="$PWD/node_modules/.bin:$PATH"; ${command}` };
}

/** The linter of a `package.json`, unless its tests run it as well. */
export function findPackageLint(files: ProjectFiles): FoundScript | null {
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
