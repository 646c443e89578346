import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { attemptOr } from "../../domain/platform/error-text.ts";

/** Names of processes, and the scheme of the addresses that each editor opens; the first that runs is taken. */
const EDITORS: readonly (readonly [process: RegExp, scheme: string])[] = [
  [/^(?:cursor)$/i, "cursor"],
  [/^(?:code|code-oss|electron-code|visual studio code)$/i, "vscode"],
  [/^code-insiders$/i, "vscode-insiders"],
  [/^(?:codium|vscodium)$/i, "vscodium"],
  [/^(?:zed|zed-editor|zeditor)$/i, "zed"],
  ...["idea", "pycharm", "webstorm", "goland", "phpstorm", "rider", "clion", "rubymine"].map(
    (name) => [new RegExp(`^${name}(?:64)?$`, "i"), name] as const,
  ),
];

const LOOK_MS = 30_000;

/** The editor that runs on this machine, by the scheme of its addresses, or null: that of the terminal, else by a look at the processes. */
export function createRunningEditor(
  env: Readonly<Record<string, string | undefined>>,
  now: () => Date,
  listProcesses: () => readonly string[] = processNames,
): () => string | null {
  const started = editorOfTerminal(env);
  const seen = { at: Number.NEGATIVE_INFINITY, editor: null as string | null };
  return () => {
    if (started !== null || now().getTime() - seen.at < LOOK_MS) return started ?? seen.editor;
    const names = attemptOr([], listProcesses);
    seen.at = now().getTime();
    seen.editor = EDITORS.find(([process]) => names.some((name) => process.test(name)))?.[1] ?? null;
    return seen.editor;
  };
}

function editorOfTerminal(env: Readonly<Record<string, string | undefined>>): string | null {
  if (env.ZED_TERM === "true") return "zed";
  if (env.TERMINAL_EMULATOR?.startsWith("JetBrains") === true) return "idea";
  if (env.TERM_PROGRAM !== "vscode") return null;
  return env.CURSOR_TRACE_ID === undefined ? "vscode" : "cursor";
}

function processNames(): readonly string[] {
  if (process.platform !== "linux") {
    const { stdout } = spawnSync("ps", ["-axo", "comm="], { encoding: "utf8", timeout: 2_000 });
    return (stdout ?? "").split("\n").map((line) => line.trim().split("/").at(-1) ?? "");
  }
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => attemptOr("", () => readFileSync(`/proc/${pid}/comm`, "utf8").trim()));
}
