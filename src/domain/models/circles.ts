/** A stretch of this length that only repeats one piece is not a real answer. */
const STRETCH = 6_000;
/** A longer piece, such as a page of a table, may well be meant several times. */
const LONGEST_PIECE = 500;
/** How much is added between two looks. */
const LOOK_EVERY = 1_000;

/** Watches a streamed answer for a model that repeats one piece without end. */
export function createCircleWatch(): { readonly repeatsItself: (piece: string) => boolean } {
  let tail = "";
  let unseen = 0;
  return {
    repeatsItself(piece) {
      // A piece of this size was generated before it was sent: stopping would save nothing.
      const isWhole = piece.length > STRETCH;
      tail = isWhole ? "" : tail + piece;
      unseen += isWhole ? 0 : piece.length;
      if (unseen < LOOK_EVERY) return false;
      unseen = 0;
      tail = tail.slice(-STRETCH);
      return tail.length === STRETCH && periodOf(tail) <= LONGEST_PIECE;
    },
  };
}

/** The length of the shortest piece of which a text is made; that of the text where no piece repeats. */
function periodOf(text: string): number {
  // For each place: how many characters before it the text begins with, too.
  const shared = new Uint32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at++) {
    while (length > 0 && text.charCodeAt(at) !== text.charCodeAt(length)) length = shared[length - 1] ?? 0;
    if (text.charCodeAt(at) === text.charCodeAt(length)) length++;
    shared[at] = length;
  }
  return text.length - length;
}
