/**
 * Local models write their thoughts into the text, between `<think>` and `</think>`, at its start. Here they are told
 * apart while they stream; a tag may be split over pieces. Only a tag that opens the answer counts, so that an answer
 * about such tags stays whole.
 */
export interface ThinkSplitter {
  take(piece: string): void;
  /** The answer is over: what was held back is given. */
  end(): void;
}

const THINK_OPENINGS = ["<think>", "<thinking>"];

export function createThinkSplitter(give: {
  readonly text: (text: string) => void;
  readonly reasoning: (text: string) => void;
}): ThinkSplitter {
  let state: "start" | "inside" | "after" | "text" = "start";
  let closing = "";
  let held = "";
  const text = (piece: string) => piece !== "" && give.text(piece);

  const atStart = () => {
    const trimmed = held.trimStart();
    const opening = THINK_OPENINGS.find((tag) => trimmed.startsWith(tag));
    if (opening !== undefined) {
      state = "inside";
      closing = opening.replace("<", "</");
      held = trimmed.slice(opening.length);
      inside();
    } else if (!THINK_OPENINGS.some((tag) => tag.startsWith(trimmed))) release();
  };
  const inside = () => {
    const end = held.indexOf(closing);
    const kept = end === -1 ? partialTagLength(held, closing) : 0;
    const thought = end === -1 ? held.slice(0, held.length - kept) : held.slice(0, end);
    if (thought !== "") give.reasoning(thought);
    held = end === -1 ? held.slice(held.length - kept) : held.slice(end + closing.length);
    if (end !== -1) {
      state = "after";
      after();
    }
  };
  /** White space between the thoughts and the answer belongs to neither. */
  const after = () => {
    held = held.trimStart();
    if (held !== "") release();
  };
  const release = () => {
    state = "text";
    text(held);
    held = "";
  };

  return {
    take: (piece) => {
      if (state === "text") return void text(piece);
      held += piece;
      if (state === "start") atStart();
      else if (state === "inside") inside();
      else after();
    },
    end: () => {
      if (held === "") return;
      if (state === "inside") give.reasoning(held);
      else text(held);
      held = "";
    },
  };
}

/** How many characters at the end of `text` may be the beginning of `tag`. */
function partialTagLength(text: string, tag: string): number {
  for (let size = Math.min(tag.length - 1, text.length); size > 0; size -= 1)
    if (text.endsWith(tag.slice(0, size))) return size;
  return 0;
}
