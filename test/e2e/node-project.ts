import { test } from "bun:test";
import { type ChatCli, createChatCli, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { QUICK_NODE_PATH, QUICK_NPM_PATH } from "../quick-npm.ts";
import { requirePart } from "../require.ts";

/** A test in which the project's own checks run. */
export const withChecks = requirePart("bwrap") && requirePart("node") ? test : test.skip;

export interface NodeProject {
  readonly script: readonly ScriptEntry[];
  readonly config?: string;
  /** The script of `npm test`. */
  readonly check?: string;
  /** All scripts, in the place of `check`. */
  readonly scripts?: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Its tests are run by Node itself. */
  readonly realNode?: boolean;
}

/** The program with a scripted model, on a committed project with tests. */
export function createNodeProject({
  script,
  config = "",
  check = "node --test",
  scripts = { test: check },
  files,
  realNode = false,
}: NodeProject): ChatCli {
  const cli = createChatCli(script, config, realNode ? QUICK_NPM_PATH : QUICK_NODE_PATH);
  cli.write("package.json", JSON.stringify({ type: "module", scripts }));
  for (const [path, text] of Object.entries(files)) cli.write(path, text);
  cli.git("init", "-q");
  cli.git("add", "-A");
  cli.git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "sample");
  return cli;
}
