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

/** Numbers in a row at the same place of a repeated piece; a shorter row may be a table. */
const LEAST_COUNTED = 20;

/**
 * Watches an answer that a local model may write without end: one that repeats a line with other numbers in it (`== 95`, `== 96`) is
 * endless too. Rows of numbers alone may be asked for.
 */
export function createCountWatch(): { readonly counts: (piece: string) => boolean } {
  let tail = "";
  let unseen = 0;
  return {
    counts(piece) {
      tail = (tail + piece).slice(-STRETCH);
      unseen += piece.length;
      if (unseen < LOOK_EVERY || tail.length < STRETCH) return false;
      unseen = 0;
      const shape = tail.replace(/\d+/g, "0");
      const period = periodOf(shape);
      const piecesIn = shape.length / period;
      return (
        period <= LONGEST_PIECE && piecesIn >= LEAST_COUNTED && /[a-z]{3}/i.test(shape.slice(0, period * 2))
      );
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
