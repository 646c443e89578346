import type { WorkerKindName } from "../../../domain/config/configured-kinds.ts";
import { claudeCode } from "./claude-code.ts";
import { codexCli } from "./codex-cli.ts";
import { geminiCli } from "./gemini-cli.ts";
import type { WorkerKind } from "./worker-kind.ts";

export const WORKER_KINDS: readonly WorkerKind[] = [codexCli, claudeCode, geminiCli];

export function findWorkerKind(name: WorkerKindName): WorkerKind {
  const kind = WORKER_KINDS.find((each) => each.name === name || each.aliases.includes(name));
  if (kind === undefined) throw new Error(`no worker kind ${name}`);
  return kind;
}
