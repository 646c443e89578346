import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxManager } from "../../application/ports/containers.ts";
import { validateLogin } from "./refreshed-login.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";
import type { Credentials } from "./credentials.ts";
import { readInside } from "./in-container.ts";

export interface BringBackDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly credentials: Credentials;
  readonly messages: TaskMessages;
}

/**
 * A login that the CLI refreshed inside makes the one it was copied from worthless: it goes back, unless the user's was
 * refreshed meanwhile or what lies inside is no such login. What did not go back is told.
 */
export async function bringBackLogins(parts: BringBackDeps): Promise<readonly string[]> {
  const { sandbox, container, credentials, messages } = parts;
  const decoder = new TextDecoder();
  const told: string[] = [];
  for (const { path, bytes, isLogin } of credentials.files) {
    if (!isLogin) continue;
    const inside = await readInside(sandbox, container, path);
    if (inside === null) continue;
    const at = join(credentials.home, path);
    const verdict = validateLogin({ placed: decoder.decode(bytes), inside, host: readLoginText(at) });
    if (verdict === "refreshed") {
      if (!replaceLogin(at, inside)) told.push(messages.loginKept(path, "unwritable"));
    } else if (verdict !== "same") told.push(messages.loginKept(path, verdict));
  }
  return told;
}

function readLoginText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** At once, with the mode it had, behind a link if it is one. */
function replaceLogin(path: string, text: string): boolean {
  try {
    const real = realpathSync(path);
    const beside = `${real}.picoclaw`;
    rmSync(beside, { force: true });
    writeFileSync(beside, text, { mode: 0o600, flag: "wx" });
    chmodSync(beside, statSync(real).mode & 0o777);
    renameSync(beside, real);
    return true;
  } catch {
    return false;
  }
}
