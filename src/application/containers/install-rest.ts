import type { InstallStep } from "../../domain/containers/dependency-plan.ts";
import {
  requirementLines,
  requirementName,
  unfetchedPackages,
} from "../../domain/containers/named-packages.ts";
import type { ExecResult } from "../ports/containers.ts";

const NPM_ROUNDS = 3;
const MOST_REQUIREMENTS = 100;
const KEPT_MANIFEST = "/workspace/tmp/.picoclaw-package.json";
const LEFT_OUT = "picoclaw: left out: ";

export interface InstallRestDeps {
  /** Runs a way to install in the project's folder, within what is left of the time. */
  readonly tryWay: (command: string) => Promise<ExecResult>;
  /** Runs a short command of our own there, however late it is, and returns what it printed. */
  readonly ask: (command: string) => Promise<string>;
}

/**
 * One package that cannot be fetched keeps npm and pip from installing any. Installs the others; returns the names of
 * those that were left out, or null where that does not help.
 */
export async function installRest(
  parts: InstallRestDeps,
  step: InstallStep,
  failed: { readonly command: string; readonly output: string },
): Promise<readonly string[] | null> {
  if (failed.command.startsWith("npm ")) return restOfNpm(parts, failed.output);
  if (step.file === "requirements.txt") return restOfPip(parts, failed.command);
  return null;
}

/** npm names one culprit at a time. */
async function restOfNpm(
  { tryWay, ask }: InstallRestDeps,
  output: string,
): Promise<readonly string[] | null> {
  const manifest = await ask("cat package.json");
  const leftOut: string[] = [];
  let said = output;
  for (let round = 0; round < NPM_ROUNDS; round++) {
    const blamed = unfetchedPackages(said, manifest).filter((name) => !leftOut.includes(name));
    if (blamed.length === 0) return null;
    leftOut.push(...blamed);
    const result = await tryWay(npmWithout(leftOut)).finally(() => ask(RESTORE_COMMAND));
    if (result.exitCode === 0) return leftOut;
    if (result.outcome !== "exited") return null;
    said = `${result.stdout}\n${result.stderr}`;
  }
  return null;
}

/** The manifest is put back, whatever came of it. */
const RESTORE_COMMAND = `if [ -f ${KEPT_MANIFEST} ]; then mv ${KEPT_MANIFEST} package.json; fi`;
const DROP_SCRIPT =
  'const fs=require("fs"),p=JSON.parse(fs.readFileSync("package.json","utf8"));' +
  'for(const k of ["dependencies","devDependencies","optionalDependencies"])for(const n of process.argv.slice(1))if(p[k])delete p[k][n];' +
  'fs.writeFileSync("package.json",JSON.stringify(p))';

function npmWithout(names: readonly string[]): string {
  return `cp package.json ${KEPT_MANIFEST} && node -e '${DROP_SCRIPT}' -- ${names.map(quoted).join(" ")} && npm install --no-save --no-package-lock --no-audit --no-fund --no-progress`;
}

async function restOfPip(
  { tryWay, ask }: InstallRestDeps,
  command: string,
): Promise<readonly string[] | null> {
  const files = [...command.matchAll(/-r (\S+)/g)].map(([, file = ""]) => file);
  const texts = await Promise.all(files.map((file) => ask(`cat ./${file}`)));
  const lines = texts.flatMap(requirementLines).slice(0, MOST_REQUIREMENTS);
  if (lines.length < 2) return null;
  const { outcome, stdout } = await tryWay(
    `for one in ${lines.map(quoted).join(" ")}; do pip install --no-input "$one" || echo "${LEFT_OUT}$one"; done`,
  );
  if (outcome !== "exited") return null;
  const leftOut = stdout
    .split("\n")
    .flatMap((line) => (line.startsWith(LEFT_OUT) ? [line.slice(LEFT_OUT.length)] : []));
  return leftOut.length < lines.length ? leftOut.map(requirementName) : null;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
