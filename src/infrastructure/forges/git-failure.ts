import type { Published } from "../../application/ports/publisher.ts";
import type { GitRun } from "./host-git.ts";

const SHOWN_CHARS = 500;

/** What git said when it could not read from the forge. Git tells only in prose; the locale is fixed. */
export function fetchFailure({ stderr, code }: GitRun): Published {
  const message = stderr.trim().slice(-SHOWN_CHARS);
  const fail = (reason: Extract<Published, { status: "failed" }>["reason"]): Published => ({
    status: "failed",
    reason,
    message,
  });
  if (code === null) return fail("unreachable");
  if (/Authentication failed|could not read (?:Username|Password)|error: 40[13]/i.test(stderr))
    return fail("unauthorized");
  if (/not found|error: 404|not our ref/i.test(stderr)) return fail("not-found");
  if (/Could not resolve|Failed to connect|Connection|timed out|error: 5\d\d|SSL|certificate/i.test(stderr))
    return fail("unreachable");
  return fail("other");
}

/** What the forge said to a push. */
export function pushFailure(run: GitRun): Published {
  const said = `${run.stderr}\n${run.stdout}`;
  const message = said
    .split("\n")
    .filter((line) => /^remote:|\[(?:remote )?rejected\]|^fatal:|^error:/.test(line))
    .join("\n")
    .slice(0, SHOWN_CHARS);
  if (/protected branch|GH006|GH013/i.test(said))
    return { status: "rejected", reason: "protected-branch", message };
  if (/stale info|fetch first|non-fast-forward|already exists/i.test(said)) return { status: "branch-taken" };
  if (
    /error: 403|not allowed to push|write access|Permission .* denied|without `?workflow`? scope/i.test(said)
  )
    return { status: "rejected", reason: "no-permission", message };
  if (/\[remote rejected\]|hook declined/i.test(said))
    return { status: "rejected", reason: "declined", message };
  return fetchFailure(run);
}
