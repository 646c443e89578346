/** The options of `npm run bench -- exercises`, which docs/benchmarks.md explains; all are texts, as `parseArgs` gives them. */
const text = { type: "string" } as const;

export const CONTEST_OPTIONS = {
  model: text,
  server: text,
  record: text,
  who: text,
  name: text,
  only: text,
  count: text,
  jobs: text,
  limit: text,
  program: text,
  settings: text,
  summary: { type: "boolean" },
} as const;

export type ContestOptions = {
  readonly [Name in keyof typeof CONTEST_OPTIONS]?: (typeof CONTEST_OPTIONS)[Name]["type"] extends "string"
    ? string
    : boolean;
};
