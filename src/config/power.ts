import { isCoder, type Route } from "../domain/config/configured-kinds.ts";
import { parseByteSize } from "./scalar-values.ts";
import { getAt, isTree, leavesOf, type Tree, withValue } from "./tree.ts";

/**
 * The keys that a workspace's own file may set without being trusted: it may be part of an untrusted repository. Every other key
 * counts as widening. `free`: any value. `add`: the list is added to the value that holds otherwise. `lower`, `raise`: not above,
 * not below it. `only`: this stricter value. `local-routes`: rules after those that hold otherwise, none of which leads to a coder,
 * who may be in the cloud.
 */
export type PowerRule =
  | { readonly rule: "free" | "add" | "lower" | "raise" | "local-routes" }
  | { readonly rule: "only"; readonly value: string | boolean };

const free: PowerRule = { rule: "free" };
const add: PowerRule = { rule: "add" };
const lower: PowerRule = { rule: "lower" };
const raise: PowerRule = { rule: "raise" };
const localRoutes: PowerRule = { rule: "local-routes" };
const only = (value: string | boolean): PowerRule => ({ rule: "only", value });

export const HARMLESS: Readonly<Record<string, PowerRule>> = {
  locale: free,
  "routing.rules": localRoutes,
  "routing.threshold": raise,
  "tasks.rules": free,
  "tasks.test_command": free,
  "tasks.max_steps": lower,
  "tasks.patience": lower,
  "loop.max_loops": lower,
  "loop.max_millis": lower,
  // The tests of the project are the project's own; how they are confined is not.
  "checks.command": free,
  "checks.timeout": lower,
  "checks.auto_limit": lower,
  "checks.network": only(false),
  "checks.enabled": only("never"),
  "checks.format": free,
  "coder.attempts": lower,
  "coder.local_attempts": lower,
  "coder.candidates": lower,
  "coder.escalate": only(false),
  "coder.on_red": only("preview"),
  "coder.explore": lower,
  "coder.sub_agents": lower,
  "coder.max_minutes": lower,
  "processes.keep": only(false),
  "processes.limit": lower,
  "processes.log_limit": lower,
  "research.fetch": only(false),
  "research.denied": add,
  "research.timeout": lower,
  "command_executor.default_environment": free,
  "command_executor.mcp_server": free,
  "command_executor.enabled": only(false),
  "command_executor.text_editor.enabled": only(false),
  "command_executor.allowed_commands.exclude": add,
  "command_executor.docker.mount_docker_socket": only(false),
  "command_executor.docker.network.external_access": only(false),
  "command_executor.docker.network.whitelist_mode": only(true),
  "command_executor.docker.pids_limit": lower,
  "command_executor.docker.resources.cpu_limit": lower,
  "command_executor.docker.resources.memory_limit": lower,
  "command_executor.docker.resources.disk_limit": lower,
  "command_executor.clone.shallow": free,
  "command_executor.clone.depth": free,
  "command_executor.clone.auto_install_deps": only(false),
  "command_executor.clone.timeout": lower,
  "command_executor.install.timeout": lower,
  "command_executor.install.cache": only(false),
  "command_executor.install.cache_limit": lower,
  "command_executor.execution.timeout_seconds": lower,
  "command_executor.execution.max_output_size": lower,
  "tools.write_scope": only("read-only"),
  "tools.policy.default": only("deny"),
  "tools.policy.deny": add,
  "tools.apply_patch.max_bytes": lower,
  "tools.apply_patch.max_error_chars": lower,
  "security.local_only": only(true),
  "worker.auto_commit": only(false),
  "worker.commit_message_prefix": free,
  "worker.command_timeout": lower,
  "worker.git_timeout": lower,
  "worker.output_limit": lower,
  "worker.stop_on_error": only(true),
  "worker.dry_run": only(true),
  "worker.show_execution_summary": only(true),
  "worker.action_on_protected_file": only("error"),
  "worker.protected_patterns": add,
  "worker.confine": only("on"),
  "worker.run_hooks": only(false),
  "worker.allow_ssh_agent": only(false),
  "worker.limits.processes": lower,
  "worker.network.mode": only("off"),
  "worker.network.denied_domains": add,
  "worker.model_network.mode": only("off"),
  "worker.model_network.denied_domains": add,
};

/** `base` is what holds without this file. A value that refers to the environment is widening for every key. */
export function splitByPower(tree: Tree, base: Tree) {
  let harmless: Tree = {};
  const widening: string[] = [];
  for (const { path, value } of leavesOf(tree)) {
    const key = path.join(".");
    if (isTree(value) && Object.keys(value).length === 0) continue;
    const rule = ruleOf(path);
    const allowed = allowedValue(rule, value, getAt(base, path));
    if (rule?.rule === "local-routes")
      widening.push(...coderEntries(value).map((index) => `${key}[${index}]`));
    if (allowed === undefined || (typeof value === "string" && value.startsWith("env:"))) widening.push(key);
    else harmless = withValue(harmless, path, allowed);
  }
  return { harmless, widening };
}

function ruleOf(path: readonly string[]): PowerRule | undefined {
  if (path[0] === "command_executor" && path[1] === "mcp_server") return free;
  return HARMLESS[path.join(".")];
}

function allowedValue(rule: PowerRule | undefined, value: unknown, held: unknown): unknown {
  switch (rule?.rule) {
    case undefined:
      return undefined;
    case "free":
      return value;
    case "only":
      return value === rule.value || value === held ? value : undefined;
    case "lower": {
      const wanted = amountOf(value);
      const limit = amountOf(held);
      return wanted !== undefined && limit !== undefined && wanted <= limit ? value : undefined;
    }
    case "raise":
      return typeof value === "number" && typeof held === "number" && value < held ? undefined : value;
    case "local-routes": {
      // A value that is not a list is left as it is, for the schema to refuse.
      if (!Array.isArray(value)) return value;
      const coders = coderEntries(value);
      return [...(Array.isArray(held) ? held : []), ...value.filter((_, index) => !coders.includes(index))];
    }
    case "add": {
      const texts = textsOf(value);
      if (texts === undefined || texts.some((text) => text.startsWith("!"))) return undefined;
      return [...new Set([...(textsOf(held) ?? []), ...texts])];
    }
  }
}

function coderEntries(value: unknown): number[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry, index) => (isTree(entry) && isCoder(entry.route as Route) ? [index] : []));
}

function amountOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : typeof value === "string" ? parseByteSize(value) : undefined;
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
}
