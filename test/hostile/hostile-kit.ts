/** Hostile commands, carried out by the real program beside things that they must not reach. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { createCli, type RunOptions, shell } from "../e2e/cli-kit.ts";

export const CONFINE_OFF = { PICOCLAW_WORKER_CONFINE: "off" };
/** Says what a socket answers; runs inside the sandbox, where this folder is readable. */
export const CONNECT = `${process.execPath} --no-env-file ${join(import.meta.dir, "connect-child.ts")}`;

export interface Attempt {
  readonly success: boolean;
  /** Everything it printed. */
  readonly said: string;
}

/**
 * A workspace beside a folder `outside` that holds `kept`, and a home of its own. It lies in the user's real home, since
 * a sandbox has no `/tmp` of the host at all.
 */
export function createTarget() {
  const cli = createCli(userInfo().homedir);
  const outside = join(cli.folder, "outside");
  const user = join(cli.folder, "user");
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  put(join(outside, "kept"), "kept\n");

  /** One job of shell lines; what each of them did. */
  function attempt(
    lines: readonly string[],
    options: RunOptions & { args?: readonly string[] } = {},
  ): Attempt[] {
    const ran = cli.apply(lines.map(shell), ["--json", ...(options.args ?? [])], {
      ...options,
      env: { OUT: outside, PICOCLAW_WORKER_ENV_PASS: "OUT", ...options.env },
    });
    const { results } = cli.json(ran) as { results?: { success: boolean; output: string; error: string }[] };
    if (results === undefined) throw new Error(`no results: ${ran.out}${ran.err}`);
    return results.map(({ success, output, error }) => ({ success, said: `${output}${error}` }));
  }

  return {
    ...cli,
    outside,
    user,
    put,
    attempt,
    try: (line: string, options?: Parameters<typeof attempt>[1]) => attempt([line], options)[0] as Attempt,
    kept: () => readFileSync(join(outside, "kept"), "utf8"),
  };
}

export type Target = ReturnType<typeof createTarget>;

/** Texts that a masker would not know again. */
export const backwards = (text: string) => [...text].reverse().join("");
