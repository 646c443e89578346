/** Every name that a task file may give; the second of claude's is an older one. */
export const WORKER_KIND_NAMES = ["codex-cli", "claude-code", "claude-code-cli", "gemini-cli"] as const;

export type WorkerKindName = (typeof WORKER_KIND_NAMES)[number];

/** Agents that may be a coder's head. `acp` is any that speaks the Agent Client Protocol (`head.command`). */
export const HEAD_NAMES = ["claude-code", "codex-cli", "gemini-cli", "acp"] as const;

export type HeadName = (typeof HEAD_NAMES)[number];

/** The worker CLI that a head is in a container; null of one that runs on the user's machine alone. */
export function workerOfHead(head: HeadName | null): WorkerKindName | null {
  return head === null || head === "acp" ? null : head;
}
