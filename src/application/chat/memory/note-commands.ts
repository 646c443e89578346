import { readMemoryLine } from "../../../domain/session/session-memory.ts";
import type { MemoryMessages } from "../../../domain/texts/texts.ts";
import type { ChatCommand, ChatParts } from "../parts.ts";
import type { Answer, ChatTurn } from "../turn.ts";

const said = (text: string, ok = true): Answer => ({ text, ok, agent: "", jobs: [] });
const FORGET = /^(?:forget|忘れて|忘れる)(?:\s+|$)/iu;

/** `/notes` and `/memo`: what the chat remembers, to be read and to be forgotten. */
export function noteCommands(words: MemoryMessages): Readonly<Record<string, ChatCommand>> {
  return {
    async notes(parts, turn, rest) {
      const wanted = rest.trim();
      if (FORGET.test(wanted)) return forgetNote(parts, turn, words, wanted.replace(FORGET, "").trim());
      const notes = await parts.sessions.notes(turn.session);
      if (wanted !== "") {
        const note = notes[Number(wanted) - 1];
        return note === undefined ? said(words.notesUsage, false) : said(`${note.sessionId}\n${note.text}`);
      }
      const { carried, summary } = turn.session;
      const now = [carried, summary.text].filter((text) => text !== "").join("\n\n");
      const lines = notes.map(({ sessionId, text }, at) => words.note(at + 1, sessionId, oneLine(text)));
      const all = [...(now === "" ? [] : [words.notesNow, now, ""]), ...lines];
      return said([...(all.length === 0 ? [words.noNotes] : all), words.notesUsage].join("\n"));
    },
    async memo({ sessions }, { session }, rest) {
      const line = rest.trim();
      if (line === "") {
        const memory = Object.entries(await sessions.memory(session));
        return said(
          memory.length === 0
            ? words.noMemos
            : memory.map(([name, value]) => `${name} = ${value}`).join("\n"),
        );
      }
      const memory = await sessions.memory(session);
      if (FORGET.test(line)) {
        const name = line.replace(FORGET, "").trim();
        if (!Object.hasOwn(memory, name)) return said(words.noMemo(name), false);
        await sessions.keep(session, name, null);
        return said(words.forgotten(name));
      }
      const { name, value } = readMemoryLine(line);
      if (value === null) {
        const known = Object.hasOwn(memory, name) ? memory[name] : undefined;
        return known === undefined ? said(words.noMemo(name), false) : said(`${name} = ${known}`);
      }
      const fits = await sessions.keep(session, name, value);
      return fits ? said(words.memoKept(name, value)) : said(words.memoTooMuch, false);
    },
  };
}

async function forgetNote(
  { sessions }: ChatParts,
  { session }: ChatTurn,
  words: MemoryMessages,
  which: string,
): Promise<Answer> {
  if (/^(?:now|今)$/iu.test(which)) {
    await sessions.forgetSummary(session);
    return said(words.summaryForgotten);
  }
  const notes = await sessions.notes(session);
  const wanted = /^(?:all|全部|すべて)$/iu.test(which)
    ? notes
    : notes.slice(Number(which) - 1, Number(which));
  if (wanted.length === 0 || (wanted !== notes && !/^[0-9]{1,4}$/u.test(which)))
    return said(words.notesUsage, false);
  for (const note of wanted) await sessions.forgetNote(session, note);
  return said(words.forgotten(wanted.map(({ sessionId }) => sessionId).join(", ")));
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return [...line].length > 100 ? `${[...line].slice(0, 100).join("")}…` : line;
}
