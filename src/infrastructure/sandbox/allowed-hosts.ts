/**
 * What this home remembers about the network of model commands, in `$PICOCLAW_HOME/model-network.json`: the hosts that a person
 * allowed with `/allow`, by workspace, and whether the person knows that the list does not hold here. An unreadable file allows no host.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { isNetworkEntry } from "../../domain/policy/network.ts";
import { replaceFile } from "../platform/text-files.ts";

interface Memory {
  readonly told?: readonly string[];
  readonly allowed?: Readonly<Record<string, readonly string[]>>;
}

function fileOf(home: string): string {
  return join(home, "model-network.json");
}

function read(home: string): Memory {
  return attemptOr({}, () => {
    const memory: unknown = JSON.parse(readFileSync(fileOf(home), "utf8"));
    return typeof memory === "object" && memory !== null ? (memory as Memory) : {};
  });
}

function write(home: string, memory: Memory): void {
  replaceFile(fileOf(home), `${JSON.stringify(memory, null, 2)}\n`);
}

/** The hosts that commands of a model may reach in a workspace because a person said so there. */
export function allowedHosts(home: string, workspace: string): readonly string[] {
  const entries = read(home).allowed?.[workspace];
  return Array.isArray(entries)
    ? entries.filter((one) => typeof one === "string" && isNetworkEntry(one))
    : [];
}

/** Adds a host, or removes it; false: it is no host. */
export function changeAllowedHosts(
  { home, workspace }: { readonly home: string; readonly workspace: string },
  entry: string,
  isAllowed: boolean,
): boolean {
  if (!isNetworkEntry(entry)) return false;
  const memory = read(home);
  const others = allowedHosts(home, workspace).filter((one) => one !== entry);
  const allowed = { ...memory.allowed, [workspace]: isAllowed ? [...others, entry] : others };
  write(home, { ...memory, allowed });
  return true;
}

/** True the first time in a home. In one that cannot be written to it is always the first. */
export function tellOnce(home: string): boolean {
  const memory = read(home);
  if (Array.isArray(memory.told) && memory.told.includes("open")) return false;
  succeeds(() => write(home, { ...memory, told: ["open"] }));
  return true;
}
