import type { Refused } from "../../policy/network.ts";
import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

/** What is said of the network and of the limits of a job. Nothing here ends in a newline. */
export interface ConfinementMessages {
  /** Requests that the allow-list refused. */
  refusedHost(refused: { readonly host: string; readonly reason: Refused; readonly count: number }): string;
  /** A program could not reach the network, and this is why. */
  networkLimited(network: "off" | "allow-list"): string;
  /** A command seems to have met a limit of `worker.limits`. */
  limitMet(limit: "memory" | "file_size" | "open_files" | "processes", value: number): string;
  /** The job was ended: it took too much of the disk. */
  diskReached(what: "changes" | "home", bytes: number, limitBytes: number): string;
  /** What `doctor` says of the limits; `holds`: there is a sandbox to hold them in. */
  limitsPromise(limits: Readonly<Record<string, number>>, holds: boolean): string;
  /** Why nothing is confined on this system. */
  readonly macos: string;
  /** Nothing ran: the network cannot be limited here. */
  networkUnavailable(mode: string): string;
  /** What `doctor` says of the network. */
  networkPromise(mode: "on" | "off" | "allow_list", holds: boolean, domains: readonly string[]): string;
}

const CATALOGUES: Readonly<Record<Locale, ConfinementMessages>> = { ja, en };

export function confinementMessages(locale: Locale): ConfinementMessages {
  return CATALOGUES[locale];
}
