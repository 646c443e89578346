import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Env } from "./environment.ts";

/** `PICOCLAW_HOME`, else `~/.picoclaw`. */
export function resolveHome(env: Env): string {
  const own = env.PICOCLAW_HOME;
  if (own !== undefined && own !== "") return resolve(own);
  const home = env.HOME;
  return join(home !== undefined && home !== "" ? home : homedir(), ".picoclaw");
}

export function homeConfigFile(home: string): string {
  return join(home, "config.yaml");
}

export function workspaceConfigFile(workspace: string): string {
  return join(workspace, "picoclaw.yaml");
}
