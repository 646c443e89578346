/** Where a text may be cut, best first: between paragraphs, lines, sentences, words. */
const CUTS = [/\n\n+/g, /\n/g, /[。！？]|[.!?](?=\s)/g, /[、,;\s]/g] as const;

/**
 * Cuts a text into pieces of at most `limit` UTF-16 units, each at the best place in its second half, never inside a
 * surrogate pair. An open code fence is closed at the cut and opened again after it.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  let fence = "";
  // Room for the marks that a cut adds.
  const room = /^ {0,3}(?:`{3}|~{3})/m.test(text) ? limit - FENCE_ROOM : limit;
  while (rest.length > limit) {
    const at = cutAt(rest, room);
    const piece = rest.slice(0, at).trimEnd();
    fence = openFence(piece);
    pieces.push(fence === "" ? piece : `${piece}\n${fence.replace(/[^`~].*$/, "")}`);
    rest = rest.slice(at).replace(fence === "" ? /^\s+/ : /^\n/, "");
    if (fence !== "") rest = `${fence}\n${rest}`;
  }
  if (rest.trim() !== "") pieces.push(rest);
  return pieces;
}

const FENCE_ROOM = 80;

function cutAt(text: string, limit: number): number {
  const half = Math.floor(limit / 2);
  const window = text.slice(0, limit);
  for (const cut of CUTS) {
    let best = -1;
    for (const match of window.matchAll(cut)) {
      const end = match.index + match[0].length;
      if (end > half && end <= limit) best = end;
    }
    if (best > 0) return best;
  }
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}

/** The line that opened a fence which the piece does not close; empty when none is open. */
function openFence(piece: string): string {
  let open = "";
  for (const line of piece.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === "") open = line.trim().slice(0, FENCE_ROOM / 2);
    else if (mark[0] === open[0] && mark.length >= (/^[`~]+/.exec(open)?.[0].length ?? 0)) open = "";
  }
  return open;
}
