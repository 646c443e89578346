/** Every name that a task file may give; the second of claude's is an older one. */
export const WORKER_KIND_NAMES = ["codex-cli", "claude-code", "claude-code-cli", "gemini-cli"] as const;

export type WorkerKindName = (typeof WORKER_KIND_NAMES)[number];
