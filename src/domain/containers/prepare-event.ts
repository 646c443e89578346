import type { EnvironmentNotice } from "./environment-choice.ts";
import type { RefusedHost } from "./refused-hosts.ts";

/** The events of the preparation of an environment, as they happen. */
export type PrepareEvent =
  | { readonly type: "step"; readonly step: PrepareStep; readonly subject: string }
  /** Output of a running step; masked, whole lines. */
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "notice"; readonly notice: PrepareNotice };

export type PrepareStep =
  | "choosing"
  | "pulling-image"
  | "building-image"
  | "deriving-image"
  | "removing-existing"
  | "creating"
  | "cloning"
  | "checking-out"
  | "fetching"
  | "installing"
  | "ready";

/** A deviation from the plan, though the environment exists. */
export type PrepareNotice =
  | EnvironmentNotice
  | { readonly code: "detected"; readonly environment: string; readonly because: string }
  | { readonly code: "uncommitted"; readonly count: number }
  | { readonly code: "no-common-commit"; readonly target: string }
  | { readonly code: "insecure-host"; readonly host: string }
  | {
      readonly code: "install-failed";
      readonly command: string;
      readonly why: InstallTrouble;
      readonly output: string;
      /** The rest was installed without these; null where nothing was. */
      readonly leftOut: readonly string[] | null;
    }
  | { readonly code: "program-missing"; readonly program: string; readonly file: string };

export type InstallTrouble =
  | { readonly kind: "exit"; readonly exitCode: number }
  | { readonly kind: "timeout"; readonly seconds: number }
  /** By our own rules, not by the program's own word. */
  | { readonly kind: "refused"; readonly hosts: readonly RefusedHost[] }
  | { readonly kind: "other"; readonly detail: string };

/** Why there is no environment. Nothing of it is left. */
export interface PrepareFailure {
  readonly ok: false;
  readonly code:
    | "aborted"
    | "engine"
    | "image-missing"
    | "image-failed"
    | "repository-missing"
    | "repository-denied"
    | "ref-missing"
    | "not-a-repository"
    | "host-unreachable"
    | "clone-timeout"
    | "clone-failed"
    | "disk-full"
    | "credential-kept"
    | "bad-input";
  /** The part that failed, for the sentence. */
  readonly subject: string;
  /** The tool's own words, without secrets. */
  readonly detail: string;
  readonly remedy?:
    | undefined
    | "images-build"
    | "check-image"
    | "start-docker"
    | "check-token"
    | "allow-host"
    | "check-name"
    | "use-https"
    | "raise-limit";
}

export function badInputFailure(
  subject: string,
  detail: string,
  remedy: PrepareFailure["remedy"] = "check-name",
): PrepareFailure {
  return { ok: false, code: "bad-input", subject, detail, remedy };
}
