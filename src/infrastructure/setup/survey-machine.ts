import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { WriteConfigResult } from "../../application/ports/setup.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isJsonObject, ownMember } from "../../domain/platform/json-members.ts";
import { KEY_VARIABLES, type SetupFindings } from "../../domain/setup/first-config.ts";
import { replaceFile } from "../platform/text-files.ts";

const PATIENCE_MS = 4000;

export interface SurveyRequest {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly findModels: (signal: AbortSignal) => Promise<Pick<SetupFindings, "ollama" | "sources">>;
  /** The version of the container engine; null where none answers. */
  readonly dockerVersion: (signal: AbortSignal) => Promise<string | null>;
  readonly hasProgram: (name: string) => boolean;
}

/** The models, keys and programs of this machine to set PicoClaw up with. */
export async function surveyMachine(request: SurveyRequest): Promise<SetupFindings> {
  const { env, findModels, dockerVersion, hasProgram } = request;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [models, version] = await Promise.all([findModels(signal), dockerVersion(signal)]);
  return {
    ...models,
    keys: KEY_VARIABLES.map((variable) => ({ variable, there: Boolean(env[variable]) })),
    github: ["GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_TOKEN"].find((name) => env[name]) ?? null,
    git: hasProgram("git"),
    docker: version === null ? null : { version },
    bubblewrap: process.platform === "linux" ? hasProgram("bwrap") : null,
  };
}

export function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Keeps the window that a model's server was started with in `models.json`. A file of the user's that is no table stays as it is. */
export function keepWindow(home: string, model: string, context: number): void {
  const file = join(home, "models.json");
  const table = isThere(file)
    ? attemptOr(null, () => JSON.parse(readFileSync(file, "utf8")))
    : { models: {} };
  if (!isJsonObject(table) || !isJsonObject(table.models)) return;
  const known = ownMember(table.models, model);
  const models = { ...table.models, [model]: { ...(isJsonObject(known) && known), context } };
  replaceFile(file, `${JSON.stringify({ ...table, models }, null, 2)}\n`);
}

/** Writes the first configuration. A file that could not be written whole does not count. */
export function writeFirstConfig(file: string, text: string, replace: boolean): WriteConfigResult {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const kept = replace && isThere(file) ? `${file}.old` : null;
  if (kept !== null) renameSync(file, kept);
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return { written: true, kept };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return { written: false, why: "exists" };
    rmSync(file, { force: true });
    if (kept !== null) renameSync(kept, file);
    throw error;
  }
}
