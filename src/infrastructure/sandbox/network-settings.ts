/** `worker.network` or `worker.model_network` as the configuration has it. */
export interface NetworkSettings {
  readonly mode: "on" | "off" | "allow_list";
  readonly allowed_domains: readonly string[];
  readonly denied_domains: readonly string[];
}

/** The network of each kind of command. */
export interface NetworksSettings {
  /** Of a person's own commands, of heads and of checks that may use a network. */
  readonly own: NetworkSettings;
  /** Of what a model starts. */
  readonly model: NetworkSettings;
  /** The user's own forges: addresses that the remotes of a repository may name. */
  readonly forges: readonly string[];
}

/** The hosts that others than the settings name, read when the first connection is made. */
export interface NamedHosts {
  /** Addresses in the user's own settings of package managers. */
  readonly user: readonly string[];
  /** Of the remotes of the repository, as they were before the job. */
  readonly remotes: readonly string[];
  /** What files of the workspace and its remotes named when the user trusted the folder. */
  readonly trusted: readonly string[];
}
