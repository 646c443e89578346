/** What people read of environments and their images. */
export interface EnvironmentMessages {
  /** One line of progress. */
  readonly step: (step: EnvironmentStep, subject: string) => string;
  readonly notice: (notice: NoticeFacts) => string;
  readonly failure: (code: EnvironmentFailureCode, subject: string, detail: string) => string;
  readonly remedy: (remedy: EnvironmentRemedy, subject: string) => string;
  readonly prepared: (facts: { name: string; environment: string; image: string; path: string }) => string;
  readonly nextSteps: (taskUuid: string) => string;
  readonly installed: (facts: { done: number; total: number }) => string;
  readonly noEnvironments: string;
  readonly listHeader: readonly [string, string, string, string, string];
  readonly unknownTask: (taskUuid: string) => string;
  readonly notReady: (taskUuid: string) => string;
  readonly removed: (name: string) => string;
  readonly nothingToRemove: (name: string) => string;
  readonly leftOver: (kind: string, name: string, reason: string) => string;
  readonly pruned: (count: number) => string;
  readonly image: (name: string, what: "unchanged" | "building" | "built") => string;
  /** For `doctor`. */
  readonly images: (there: readonly string[], missing: readonly string[]) => string;
  readonly unknownImage: (name: string, known: readonly string[]) => string;
  readonly missingOption: (flag: string) => string;
  readonly badTask: (given: string) => string;
  readonly badTimeout: (given: string) => string;
  readonly noCommand: string;
  readonly unknownEnvironment: (name: string, known: readonly string[]) => string;
  readonly unknownSubcommand: (given: string, known: readonly string[]) => string;
  readonly rootNeedsRoot: string;
  readonly undoIsTheTasks: string;
}

export type EnvironmentStep =
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

export type NoticeFacts =
  | { readonly code: "unknown-environment"; readonly asked: string; readonly used: string }
  | { readonly code: "nearest"; readonly language: string; readonly wanted: string; readonly used: string }
  | { readonly code: "detected"; readonly environment: string; readonly because: string }
  | { readonly code: "uncommitted"; readonly count: number }
  | { readonly code: "no-common-commit"; readonly target: string }
  | { readonly code: "insecure-host"; readonly host: string }
  | {
      readonly code: "install-failed";
      readonly command: string;
      readonly why:
        | { readonly kind: "exit"; readonly exitCode: number }
        | { readonly kind: "timeout"; readonly seconds: number }
        | { readonly kind: "other"; readonly detail: string };
      readonly output: string;
    }
  | { readonly code: "program-missing"; readonly program: string; readonly file: string };

export type EnvironmentFailureCode =
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

export type EnvironmentRemedy =
  | "images-build"
  | "start-docker"
  | "check-token"
  | "allow-host"
  | "check-name"
  | "use-https"
  | "raise-limit";
