import { readMemoryLine } from "../../domain/chat/session-memory.ts";
import type { ChatCommand, ChatDeps } from "./chat-turn.ts";
import type { Answer, ChatTurn } from "./turn.ts";
import { answerAboutMemory } from "./tell.ts";

const FORGET = /^(?:forget|忘れて|忘れる)(?:\s+|$)/iu;

/** `/notes` and `/memo`: what the chat remembers, to be read and to be forgotten. */
export const noteCommands: Readonly<Record<string, ChatCommand>> = {
  async notes(parts, turn, rest) {
    const wanted = rest.trim();
    if (FORGET.test(wanted)) return forgetNote(parts, turn, wanted.replace(FORGET, "").trim());
    const notes = await parts.sessions.notes(turn.session);
    if (wanted !== "") {
      const note = notes[Number(wanted) - 1];
      return answerAboutMemory(
        parts,
        (words) => (note === undefined ? words.notesUsage : `${note.sessionId}\n${note.text}`),
        note !== undefined,
      );
    }
    const { carried, summary } = turn.session;
    const now = [carried, summary.text].filter((text) => text !== "").join("\n\n");
    return answerAboutMemory(parts, (words) => {
      const lines = notes.map(({ sessionId, text }, at) => words.note(at + 1, sessionId, noteLine(text)));
      const all = [...(now === "" ? [] : [words.notesNow, now, ""]), ...lines];
      return [...(all.length === 0 ? [words.noNotes] : all), words.notesUsage].join("\n");
    });
  },
  async memo(parts, { session }, rest) {
    const { sessions } = parts;
    const line = rest.trim();
    if (line === "") {
      const memory = Object.entries(await sessions.memory(session));
      return answerAboutMemory(parts, (words) =>
        memory.length === 0 ? words.noMemos : memory.map(([name, value]) => `${name} = ${value}`).join("\n"),
      );
    }
    const memory = await sessions.memory(session);
    if (FORGET.test(line)) {
      const name = line.replace(FORGET, "").trim();
      if (!Object.hasOwn(memory, name)) return answerAboutMemory(parts, (words) => words.noMemo(name), false);
      await sessions.keep(session, name, null);
      return answerAboutMemory(parts, (words) => words.forgotten(name));
    }
    const { name, value } = readMemoryLine(line);
    if (value === null) {
      const known = Object.hasOwn(memory, name) ? memory[name] : undefined;
      return answerAboutMemory(
        parts,
        (words) => (known === undefined ? words.noMemo(name) : `${name} = ${known}`),
        known !== undefined,
      );
    }
    const fits = await sessions.keep(session, name, value);
    return answerAboutMemory(
      parts,
      (words) => (fits ? words.memoKept(name, value) : words.memoTooMuch),
      fits,
    );
  },
};

async function forgetNote(parts: ChatDeps, { session }: ChatTurn, which: string): Promise<Answer> {
  const { sessions } = parts;
  if (/^(?:now|今)$/iu.test(which)) {
    await sessions.forgetSummary(session);
    return answerAboutMemory(parts, (words) => words.summaryForgotten);
  }
  const notes = await sessions.notes(session);
  const wanted = /^(?:all|全部|すべて)$/iu.test(which)
    ? notes
    : notes.slice(Number(which) - 1, Number(which));
  if (wanted.length === 0 || (wanted !== notes && !/^[0-9]{1,4}$/u.test(which)))
    return answerAboutMemory(parts, (words) => words.notesUsage, false);
  for (const note of wanted) await sessions.forgetNote(session, note);
  const names = wanted.map(({ sessionId }) => sessionId).join(", ");
  return answerAboutMemory(parts, (words) => words.forgotten(names));
}

function noteLine(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return [...line].length > 100 ? `${[...line].slice(0, 100).join("")}…` : line;
}
