import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type MissingLimit = "memory" | "swap" | "cpu" | "pids";

/** What `doctor` says of the Docker engine. Nothing here ends in a newline. */
export interface DockerMessages {
  engine(facts: { readonly version: string; readonly api: string; readonly host: string }): string;
  /** `needed`: the configuration has environments switched on. */
  notReachable(detail: string, needed: boolean): string;
  notPermitted(host: string, needed: boolean): string;
  badHost(host: string): string;
  kernel(facts: {
    readonly cgroup: 1 | 2;
    readonly driver: string;
    readonly filesystem: string;
    readonly rootless: boolean;
  }): string;
  limits(missing: readonly MissingLimit[]): string;
  disk(kind: "quota" | "watchdog", limit: string): string;
  network(mode: "none" | "open" | "allow-list", domains: readonly string[], hosts: readonly string[]): string;
  hardening(seccomp: boolean): string;
  socketMounted: string;
  remedy(what: "start-docker" | "join-group" | "set-host" | "kernel-limits" | "seccomp"): string;
}

const CATALOGUES: Readonly<Record<Locale, DockerMessages>> = { ja, en };

export function dockerMessages(locale: Locale): DockerMessages {
  return CATALOGUES[locale];
}
