/** `picoclaw chat` as a real process with scripted models in every role. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCli, type Ran } from "../../e2e/cli-kit.ts";

export interface ScriptEntry {
  readonly when?: Readonly<Record<string, unknown>>;
  readonly times?: number;
  readonly text?: string;
  readonly tool_calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly fail?: unknown;
  readonly delay_ms?: number;
  readonly chunks?: readonly string[];
  readonly pause_ms?: number;
  readonly finish?: string;
  readonly usage?: { readonly input: number; readonly output: number };
}

/** `config` is YAML that goes below the roles. */
export function createChatCli(script: readonly ScriptEntry[], config = "", path?: string) {
  const cli = createCli(undefined, path);
  mkdirSync(cli.home, { recursive: true });
  const roles = ["chat", "worker", "coder1", "coder2", "coder3"].map(
    (role) => `  ${role}: { provider: demo }`,
  );
  const provider = "  demo: { type: scripted, model: demo, script: script.json, local: true }";
  writeFileSync(
    join(cli.home, "config.yaml"),
    `providers:\n${provider}\nroles:\n${roles.join("\n")}\n${config}`,
  );
  const rewrite = (entries: readonly ScriptEntry[]) =>
    writeFileSync(join(cli.home, "script.json"), JSON.stringify({ answers: entries }));
  rewrite(script);
  return {
    ...cli,
    rewrite,
    chat: (message: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Ran =>
      cli.run(["chat", ...args, "--", message], { env }),
  };
}

export type ChatCli = ReturnType<typeof createChatCli>;

/** A coder's answer in the sections that it is asked for. */
export function proposal(plan: string, patch: string, { risk = "low", more = "" } = {}): string {
  return `## Plan\n${plan}\n\n## Patch\n${patch}\n\n## Risk\n${risk}\n\n## Cost\n1 minute\n${more}`;
}

export function replace(path: string, before: string, after: string): string {
  return `${path}\n\`\`\`\n<<<<<<< SEARCH\n${before}\n=======\n${after}\n>>>>>>> REPLACE\n\`\`\``;
}

export function worked(result: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    result,
    needs_next_loop: false,
    why: "done",
    confidence: 0.9,
    risk: "low",
    fit: 0.9,
    suggested_route: "ANALYZE",
    ...more,
  });
}
