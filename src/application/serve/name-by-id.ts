import { type ReplyPiece, wordPieces } from "../chat/reply-words.ts";
import type { Reply } from "../ports/chat.ts";

/** The reply with its jobs by their ids: a number names another job where another machine reads it. */
export function nameById(reply: Reply, locale: Parameters<typeof wordPieces>[0]): Reply {
  const { jobs, actions, said } = reply;
  const ids = new Map(jobs.map(({ number, job_id }) => [`#${number}`, job_id]));
  const rename = (piece: ReplyPiece): ReplyPiece => {
    if (piece.kind === "loop" && piece.undo !== null)
      return { ...piece, undo: piece.undo.replace(/#\d+/g, (name) => ids.get(name) ?? name) };
    if (piece.kind !== "job" && piece.kind !== "action") return piece;
    const { numbers: _, together: __, ...facts } = { together: [], ...piece.facts };
    return { ...piece, facts } as ReplyPiece;
  };
  const pieces = said?.map(rename);
  return {
    ...reply,
    ...(pieces !== undefined && { said: pieces, text: wordPieces(locale, pieces) }),
    jobs: jobs.map(({ number: _, ...job }) => job),
    actions: actions.filter(({ message }) => !/^\/undo #\d/.test(message)),
  };
}
