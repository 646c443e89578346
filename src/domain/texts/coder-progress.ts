interface CoderProgress {
  readonly attempt: number;
  readonly of: number;
  readonly doing: "asking" | "running" | "checking";
  /** The checks that run. */
  readonly detail: string;
  readonly tokens: number;
  readonly costUsd: number;
}

/** What a coder is at, in one line, for the terminal and the console. */
export const coderProgress = ({ attempt, of, doing, detail, tokens, costUsd }: CoderProgress): string => {
  const what = { asking: "asking the coder", running: "carrying it out", checking: `checking: ${detail}` }[
    doing
  ];
  const cost = costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : "";
  return `Attempt ${attempt} of ${of} · ${what} · ${tokens} tokens${cost}`;
};
