/** `git status --porcelain=v2 --branch -z` as plain facts. */
export interface StatusSummary {
  /** Null when HEAD is detached. */
  readonly branch: string | null;
  /** Null before the first commit. */
  readonly head: string | null;
  readonly upstream: string | null;
  readonly ahead: number;
  readonly behind: number;
  readonly staged: readonly string[];
  readonly modified: readonly string[];
  readonly untracked: readonly string[];
  readonly conflicted: readonly string[];
  readonly clean: boolean;
}

export function parseStatus(text: string): StatusSummary {
  const headers = new Map<string, string>();
  const staged: string[] = [];
  const modified: string[] = [];
  const untracked: string[] = [];
  const conflicted: string[] = [];
  const records = text.split("\0");
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as string;
    const kind = record.charAt(0);
    if (kind === "#") {
      const [, name = "", value = ""] = /^# branch\.(\S+) (.*)$/s.exec(record) ?? [];
      headers.set(name, value);
    } else if (kind === "?") untracked.push(record.slice(2));
    else if (kind === "u") conflicted.push(field(record, 10));
    else if (kind === "1" || kind === "2") {
      const path = field(record, kind === "1" ? 8 : 9);
      if (record.charAt(2) !== ".") staged.push(path);
      if (record.charAt(3) !== ".") modified.push(path);
      // A rename is followed by the name it had.
      if (kind === "2") at += 1;
    }
  }
  const [, ahead = "0", behind = "0"] = /^\+(\d+) -(\d+)$/.exec(headers.get("ab") ?? "") ?? [];
  const head = headers.get("head");
  const commit = headers.get("oid");
  return {
    branch: head === undefined || head === "(detached)" ? null : head,
    head: commit === undefined || commit === "(initial)" ? null : commit,
    upstream: headers.get("upstream") ?? null,
    ahead: Number(ahead),
    behind: Number(behind),
    staged,
    modified,
    untracked,
    conflicted,
    clean: staged.length + modified.length + untracked.length + conflicted.length === 0,
  };
}

/** The path is the rest of a record after so many fields. */
function field(record: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0; left--) at = record.indexOf(" ", at) + 1;
  return record.slice(at);
}
