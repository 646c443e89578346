/**
 * The hosts that commands of a model may reach. In: the settings, and what others name. Out: rules for the proxy. Invariant: only
 * what a person wrote (settings, `/allow`, their own files of package managers, their forges) opens private addresses; registries,
 * remotes and what a trusted folder names open public ones.
 */
import { addressEndpoint, type NetworkRules } from "../../domain/policy/network.ts";
import { PUBLIC_FORGES, REGISTRIES } from "../../domain/sandbox/registries.ts";
import { allowedHosts } from "./allowed-hosts.ts";
import type { NamedHosts, NetworksSettings } from "./network-settings.ts";

/** With `worker.network: allow_list`, its list is all: a model reaches no registry that the user's own commands may not reach. */
export function findModelRules({
  networks: { own, model, forges },
  workspace,
  home,
  named: { user, remotes, trusted },
}: {
  readonly networks: NetworksSettings;
  readonly workspace: string;
  readonly home: string;
  readonly named: NamedHosts;
}): NetworkRules {
  const chosen = [...model.allowed_domains, ...allowedHosts(home, workspace)];
  const denied = [...own.denied_domains, ...model.denied_domains];
  if (own.mode === "allow_list") return { allowed: [...own.allowed_domains, ...chosen], denied };
  const users = [...user, ...forges].flatMap(addressEndpoint);
  const forgeHosts = remotes.flatMap((host) => PUBLIC_FORGES.get(host) ?? []);
  return { allowed: [...chosen, ...users], listed: [...REGISTRIES, ...forgeHosts, ...trusted], denied };
}
