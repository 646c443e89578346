import type { ConfigProblem } from "../domain/config/config-problem.ts";
import { isNetworkEntry } from "../domain/policy/network.ts";
import { acceptTree } from "./accept.ts";
import type { Config } from "./config.ts";
import type { SchemaNode } from "./keys.ts";
import { invalidValue, type Origin } from "./origin.ts";
import type { Tree } from "./tree.ts";

export type ValidateResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** A good tree costs a walk over the schema; only a bad one loads zod, which says what is wrong with it. */
export async function validateSettings(
  tree: Tree,
  root: SchemaNode,
  origin: Origin,
): Promise<ValidateResult> {
  const result = acceptTree(root, tree);
  if (result.ok) return { ok: true, config: result.value as Config };
  const { explainProblems } = await import("./problems.ts");
  const explained = explainProblems(tree, root, origin);
  return explained.ok ? { ok: true, config: explained.value as Config } : explained;
}

/** What the schema does not show: every role must name a provider that exists, every host must be one. */
export function checkReferences(config: Config, origin: Origin): ConfigProblem[] {
  return [...roleProblems(config, origin), ...hostProblems(config, origin)];
}

function hostProblems({ worker: { network }, research }: Config, origin: Origin): ConfigProblem[] {
  const lists = {
    "worker.network.allowed_domains": network.allowed_domains,
    "worker.network.denied_domains": network.denied_domains,
    "research.allowed": research.allowed,
    "research.denied": research.denied,
  };
  return Object.entries(lists).flatMap(([key, entries]) =>
    entries.flatMap((entry, i) =>
      isNetworkEntry(entry)
        ? []
        : [invalidValue(`${key}[${i}]`, entry, "example.org, *.example.org or host:port", origin)],
    ),
  );
}

function roleProblems(config: Config, origin: Origin): ConfigProblem[] {
  const names = ["ollama", ...Object.keys(config.providers)];
  const { default_coder: _, ...roles } = config.roles;
  return Object.entries(roles).flatMap(([role, { provider }]): ConfigProblem[] =>
    names.includes(provider)
      ? []
      : [invalidValue(`roles.${role}.provider`, provider, names.join(" | "), origin)],
  );
}
