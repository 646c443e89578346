import { deniedResult, type ToolFailure } from "./tool-result.ts";

export type Verdict = "allow" | "deny";

/** Which tools may be called at all. A name that is not listed gets the default. */
export interface ToolPolicy {
  readonly default: Verdict;
  readonly tools: Readonly<Record<string, Verdict>>;
}

/**
 * `read-only`: nothing is written and no command runs. `workspace-write`: inside the workspace. `unrestricted`: a
 * path may also name another folder; what is written there is a job of that folder.
 */
export type WriteScope = "read-only" | "workspace-write" | "unrestricted";

export const ALLOW_ALL: ToolPolicy = { default: "allow", tools: {} };

/** Any of a tool's names may stand in the policy; a denial under one of them counts for all. */
export function policyVerdict(policy: ToolPolicy, names: readonly string[]): Verdict {
  const said = names
    .filter((name) => Object.hasOwn(policy.tools, name))
    .map((name) => policy.tools[name] as Verdict);
  if (said.includes("deny")) return "deny";
  return said.length > 0 ? "allow" : policy.default;
}

export function checkPolicy(policy: ToolPolicy, names: readonly string[]): ToolFailure | null {
  if (policyVerdict(policy, names) === "allow") return null;
  return deniedResult("POLICY_DENIED", `the policy does not allow this tool: ${names[0]}`, "policy");
}

export function checkWriteScope(
  scope: WriteScope,
  access: "read" | "write",
  name: string,
): ToolFailure | null {
  if (access === "read" || scope !== "read-only") return null;
  return deniedResult(
    "WRITE_DENIED",
    `the write scope is read-only: ${name} would write`,
    "write-permission",
  );
}
