import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import type { AcpHost } from "../adapters/acp/sessions.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { realPathOf } from "../infrastructure/platform/text-files.ts";
import { VERSION } from "../version.ts";
import { openChat } from "./chat.ts";
import type { Environment } from "./services.ts";
import { shareStores } from "./store.ts";

export async function serveAcpOnStdio(
  env: Environment,
  options: OpenOptions,
  { log, stop }: { readonly log: (text: string) => void; readonly stop: AbortSignal },
): Promise<void> {
  const only = options.workspace === undefined ? null : resolve(options.cwd, options.workspace);
  const openStore = shareStores();
  const host: AcpHost = {
    version: VERSION,
    open: (cwd) => openChat(env, { ...options, cwd, workspace: only ?? cwd }, { openStore }),
    only,
    realPath: realPathOf,
    newSessionId: () => randomBytes(9).toString("hex"),
    log,
  };
  const { serveAcp } = await import("../adapters/acp/serve-acp.ts");
  await serveAcp(host, { input: process.stdin, output: process.stdout }, stop);
}
