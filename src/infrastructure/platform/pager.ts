import { spawnSync } from "node:child_process";
import { writeAll } from "./standard-streams.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Shows a long text page by page: `PAGER`, else `less`, which ends at once where the text fits the
 * screen. Without one, or with `cat` or an empty name, the text is written as it is.
 */
export function showInPager(text: string, env: Env): void {
  const pager = env.PAGER ?? "less";
  if (pager.trim() === "" || pager.trim() === "cat") {
    writeAll(1, text);
    return;
  }
  const ran = spawnSync("sh", ["-c", pager], {
    input: text,
    stdio: ["pipe", "inherit", "inherit"],
    env: { LESS: "FRX", LV: "-c", ...env },
  });
  // 127: there is no such program.
  if (ran.error !== undefined || ran.status === 127) writeAll(1, text);
}
