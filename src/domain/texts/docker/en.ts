import type { DockerMessages } from "./messages.ts";

const LIMITS = { memory: "memory", swap: "swap", cpu: "CPU", pids: "processes" } as const;

export const en: DockerMessages = {
  engine: ({ version, api, host }) => `Docker ${version} (API ${api}) at ${host}`,
  notReachable: (detail, needed) =>
    `Docker: not reachable${needed ? "" : " (only task environments need it)"}: ${detail}`,
  notPermitted: (host, needed) =>
    `Docker: this user may not use ${host}${needed ? "" : " (only task environments need it)"}`,
  badHost: (host) => `Docker: ${host} is no address of an engine`,
  kernel: ({ cgroup, driver, filesystem, rootless }) =>
    `Docker: cgroup v${cgroup}, storage ${driver} on ${filesystem}${rootless ? ", rootless" : ""}`,
  limits: (missing) =>
    missing.length === 0
      ? "Environments: CPU, memory, swap and process limits are enforced by the kernel"
      : `Environments: not enforced by this engine: ${missing.map((each) => LIMITS[each]).join(", ")}`,
  disk: (kind, limit) =>
    kind === "quota"
      ? `Environments: the disk limit (${limit}) is enforced by the engine`
      : `Environments: the disk limit (${limit}) is watched, not enforced: commands are ended a few seconds after it is passed; one file never grows beyond it`,
  network(mode, domains, hosts) {
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
  hardening: (seccomp) =>
    seccomp
      ? "Environments: ordinary user, no capabilities, no new privileges, seccomp"
      : "Environments: ordinary user, no capabilities, no new privileges; this engine has no seccomp",
  socketMounted:
    "Environments: the engine's socket is mounted; whatever runs in one has the power of root on this machine",
  remedy(what) {
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
