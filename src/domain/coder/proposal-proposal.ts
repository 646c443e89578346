/** What a coder proposes. It runs nothing itself. */
export interface Proposal {
  readonly plan: string;
  /** In any of the patch formats; empty means that there is nothing to do. */
  readonly patch: string;
  readonly risk: RiskLevel;
  readonly costHint: string;
  /** `uses_browser` and whatever else the coder said yes or no to. */
  readonly flags: Readonly<Record<string, boolean>>;
}

export type RiskLevel = "low" | "medium" | "high";

/** Either a proposal, or the coder's wish to see files or to search before it writes one, or neither. */
export type ReadProposal =
  | { readonly kind: "proposal"; readonly proposal: Proposal }
  | {
      readonly kind: "needs-files";
      /** `path` or `path:from-to`. */
      readonly paths: readonly string[];
      /** Texts or regular expressions to look for. */
      readonly searches: readonly string[];
      readonly plan: string;
    }
  | { readonly kind: "none"; readonly text: string };

export function hasFlag({ flags }: Pick<Proposal, "flags">, name: string): boolean {
  return flags[name] === true;
}
