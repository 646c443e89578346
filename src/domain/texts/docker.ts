type MissingLimit = "memory" | "swap" | "cpu" | "pids";

const LIMITS = { memory: "memory", swap: "swap", cpu: "CPU", pids: "processes" } as const;

export const dockerTexts = {
  engine: ({
    version,
    api,
    host,
  }: {
    readonly version: string;
    readonly api: string;
    readonly host: string;
  }) => `Docker ${version} (API ${api}) at ${host}`,
  /** `needed`: the configuration has environments switched on. */
  notReachable: (detail: string, needed: boolean) =>
    `Docker: not reachable${needed ? "" : " (only task environments need it)"}: ${detail}`,
  notPermitted: (host: string, needed: boolean) =>
    `Docker: this user may not use ${host}${needed ? "" : " (only task environments need it)"}`,
  badHost: (host: string) => `Docker: ${host} is no address of an engine`,
  kernel: ({
    cgroup,
    driver,
    filesystem,
    rootless,
  }: {
    readonly cgroup: 1 | 2;
    readonly driver: string;
    readonly filesystem: string;
    readonly rootless: boolean;
  }) => `Docker: cgroup v${cgroup}, storage ${driver} on ${filesystem}${rootless ? ", rootless" : ""}`,
  limits: (missing: readonly MissingLimit[]): string =>
    missing.length === 0
      ? "Environments: CPU, memory, swap and process limits are enforced by the kernel"
      : `Environments: not enforced by this engine: ${missing.map((each) => LIMITS[each]).join(", ")}`,
  disk: (kind: "quota" | "watchdog", limit: string): string =>
    kind === "quota"
      ? `Environments: the disk limit (${limit}) is enforced by the engine`
      : `Environments: the disk limit (${limit}) is watched, not enforced: commands are ended a few seconds after it is passed; one file never grows beyond it`,
  network(
    mode: "none" | "open" | "allow-list",
    domains: readonly string[],
    hosts: readonly string[],
  ): string {
    const besides = hosts.length === 0 ? "" : `, and ${hosts.join(", ")}`;
    switch (mode) {
      case "none":
        return "Environments: no network at all";
      case "open":
        return `Environments: public hosts through the proxy${besides}; this machine and private networks are out of reach`;
      case "allow-list":
        return `Environments: through the proxy only ${domains.join(", ") || "nothing"}${besides}`;
    }
  },
  hardening: (seccomp: boolean): string =>
    seccomp
      ? "Environments: ordinary user, no capabilities, no new privileges, seccomp"
      : "Environments: ordinary user, no capabilities, no new privileges; this engine has no seccomp",
  socketMounted:
    "Environments: the engine's socket is mounted; whatever runs in one has the power of root on this machine",
  remedy(what: "start-docker" | "join-group" | "set-host" | "kernel-limits" | "seccomp"): string {
    switch (what) {
      case "start-docker":
        return "start Docker (systemctl start docker), or set DOCKER_HOST to a running engine";
      case "join-group":
        return "add this user to the group docker (sudo usermod -aG docker $USER, then log in again)";
      case "set-host":
        return "set command_executor.docker.host or DOCKER_HOST to unix:///… or tcp://host:port";
      case "kernel-limits":
        return "switch on the missing cgroup controllers (for swap: the kernel parameter swapaccount=1)";
      case "seccomp":
        return "use an engine and a kernel with seccomp";
    }
  },
};
