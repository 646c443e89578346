/** Shorter than this, what two pieces share may be chance. */
const SURE_OVERLAP = 12;
const LONGEST_OVERLAP = 4_000;
/** A piece that begins like the whole answer did is the answer again. */
const SAME_START = 40;

/**
 * One answer of an answer that was cut and what went on from there: what the second repeats of the first is left out,
 * and so is a fence that it opened again. A second that begins anew replaces the first.
 */
export function stitchAnswers(head: string, tail: string): string {
  const start = head.trimStart().slice(0, SAME_START);
  if (start.length === SAME_START && tail.trimStart().startsWith(start)) return tail;
  const going = isInFence(head) ? tail.replace(/^\s*(?:```|~~~)[^\s`~][^\n]*\n/, "") : tail;
  return head + going.slice(overlapLength(head, going));
}

/** Characters at the start of the second that the first ends in. */
function overlapLength(head: string, tail: string): number {
  const lastLine = head.slice(head.lastIndexOf("\n") + 1);
  const most = Math.min(head.length, tail.length, LONGEST_OVERLAP);
  for (let length = most; length > 0; length--) {
    if (!head.endsWith(tail.slice(0, length))) continue;
    const isLine = length >= lastLine.length && lastLine.trim().length >= 3;
    return length >= SURE_OVERLAP || isLine ? length : 0;
  }
  return 0;
}

/** Whether a text ends between two fences. */
function isInFence(text: string): boolean {
  let open: string | null = null;
  for (const [, mark, info] of text.matchAll(/^ {0,3}(`{3,}|~{3,})([^\n]*)$/gm)) {
    if (mark === undefined) continue;
    if (open === null) open = mark;
    else if (mark.startsWith(open) && info?.trim() === "") open = null;
  }
  return open !== null;
}
