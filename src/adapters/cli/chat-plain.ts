import { describeEvent } from "../../application/chat/describe-event.ts";
import type { ChatEvent, Reply, Route } from "../../application/ports/chat.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import { keepImagesOfMessage } from "./message-files.ts";
import { type CliProgram, EXIT, type OpenChatFolder } from "./program.ts";

interface PlainOptions {
  readonly texts: TerminalMessages;
  readonly chatId: string;
  readonly route: Route | undefined;
  readonly first: string | null;
}

const LEAVING = new Set(["/exit", "/quit", "exit", "quit"]);

/** The conversation as lines: no colours, no cursor, no spinner. For screen readers, logs and terminals that can do no more. */
export async function conversePlainly(
  program: CliProgram,
  opened: OpenChatFolder,
  { texts, chatId, route, first }: PlainOptions,
): Promise<number> {
  const { conversation, chat, workspace, who, close } = opened;
  const say = (text: string) => program.out(`${printable(text)}\n`);
  const { chat: talks, coder } = await who();
  say(texts.title(program.version, workspace.root));
  say(texts.who(talks, coder));
  say(texts.plainWelcome);
  const running: { abort: AbortController | null } = { abort: null };
  const state = { code: EXIT.done as number };
  const host = await program.terminalHost();
  // The first Ctrl-C stops the message, one without a message leaves.
  const interrupt = () => {
    if (running.abort !== null && !running.abort.signal.aborted) running.abort.abort();
    else process.exit(EXIT.interrupted);
  };
  process.on("SIGINT", interrupt);
  /** Lines that were typed while a message was answered, in their order; `joins`: whether a coder took it in. */
  const waiting: { readonly text: string; readonly joins: Promise<boolean> | null }[] = [];
  let work: Promise<void> | null = null;
  try {
    if (first === null) program.out(texts.plainPrompt);
    else begin(first);
    for await (const line of host.lines()) {
      if (LEAVING.has(line.trim().toLowerCase())) break;
      if (line.trim() === "") {
        if (work === null) program.out(texts.plainPrompt);
      } else if (work === null) begin(line);
      else addDuringWork(line);
    }
    while (work !== null) await work;
    program.out("\n");
    return state.code;
  } finally {
    process.off("SIGINT", interrupt);
    await close();
  }

  /** Answers a line and those that wait behind it, while more of them are read. */
  function begin(line: string): void {
    work = (async () => {
      await send(line);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        if (next.joins === null || !(await next.joins)) await send(next.text);
      work = null;
      program.out(texts.plainPrompt);
    })();
  }

  /** A look or a question beside is answered at once; words for a coder join its next round, or are the next message. */
  function addDuringWork(text: string): void {
    const message = { channel: "cli", chatId, userId: "cli", text };
    const joins = conversation.steer(message, new AbortController().signal);
    if (joins !== null) {
      say(chat.joins);
      void joins.then((isTaken) => isTaken && say(chat.steered));
      waiting.push({ text, joins });
    } else if (conversation.interrupts(message))
      void conversation
        .handle(message, { signal: new AbortController().signal })
        .then((reply) => say(reply.text.trim()));
    else waiting.push({ text, joins: null });
  }

  async function send(text: string): Promise<void> {
    const kept = await keepImagesOfMessage(program, opened, chatId, text);
    if (!kept.ok) {
      say(chat.imageTrouble(kept.trouble));
      return;
    }
    running.abort = new AbortController();
    let streamed = "";
    let shownLast = "";
    const ticked = new Set<string>();
    const onEvent = (event: ChatEvent) => {
      if (event.type === "text") {
        streamed += event.text;
        program.out(printable(event.text));
        return;
      }
      if (event.type === "notice") {
        say(event.text);
        return;
      }
      if (event.type === "steps") {
        for (const { text, state } of event.steps)
          if (state === "done" && !ticked.has(text)) {
            ticked.add(text);
            say(`☑ ${text}`);
          }
        return;
      }
      const doing = event.type === "job-output" ? "" : describeEvent(event, chat);
      if (doing === "" || doing === shownLast) return;
      shownLast = doing;
      say(`- ${doing}`);
    };
    const reply = await conversation.handle(
      {
        channel: "cli",
        chatId,
        userId: "cli",
        text,
        images: kept.images,
        ...(route !== undefined && { forcedRoute: route }),
      },
      { signal: running.abort.signal, onEvent },
    );
    running.abort = null;
    const words = printable(reply.text).trim();
    const said = printable(streamed).trim();
    if (said !== "") program.out("\n");
    const rest = said !== "" && words.startsWith(said) ? words.slice(said.length).trim() : words;
    if (rest !== "") say(rest);
    for (const { path, added, removed } of countedFiles(reply))
      say(`${texts.plainOk}: ${path} +${added} −${removed}`);
  }
}

function countedFiles({ said = [] }: Reply) {
  const job = said.find((piece) => piece.kind === "job");
  if (job?.kind !== "job") return [];
  return Object.entries(job.facts.lineCounts ?? {}).map(([path, counts]) => ({ path, ...counts }));
}
