import type { ChatEvent, Reply, Route } from "../../application/ports/conversation.ts";
import { readRoute } from "../../domain/config/route.ts";
import { replyJson } from "../serve/reply-json.ts";
import { createChatProgress } from "./chat-progress.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { openedOrStop, readFlags } from "./flags.ts";
import type { Flags } from "./parse-flags.ts";
import { type CliProgram, EXIT, type OpenedChat } from "./program.ts";
import { repairFirst } from "./repair-first.ts";

/** The first of these stops the message and takes its job back; a second one ends the program. */
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type OpenChatFolder = Extract<OpenedChat, { ok: true }>;

/** `chat [MESSAGE|-]`: one message, or an interactive conversation at a terminal. */
export const command: Subcommand = {
  name: "chat",
  usage: "chat [MESSAGE|-]",
  flags: {
    route: "string",
    events: "boolean",
    name: "string",
    fork: "string",
    list: "boolean",
    forget: "string",
  },
  words: 1000,
  run: chat,
};

async function chat(program: CliProgram, args: readonly string[]): Promise<number> {
  const { values, words } = await readFlags(program, command, args);
  const json = values.json === true;
  const opened = await openedOrStop(program, values, program.openChat);
  try {
    if (values.list === true || typeof values.forget === "string") {
      const { forgetChat, listChats } = await import("./chat-names.ts");
      return typeof values.forget === "string"
        ? await forgetChat(program, opened, { name: values.forget, json })
        : await listChats(program, opened, json);
    }
    await repairFirst(program, opened);
    // A job that died in the middle of an earlier conversation is named once, and closed.
    for (const jobId of await opened.workspace.closeDeadJobs())
      program.err(`${opened.messages.jobDied(jobId)}\n`);
    let route: Route | undefined;
    if (typeof values.route === "string") {
      route = readRoute(values.route);
      if (route === undefined) {
        const text = opened.messages.usageError(`--route ${values.route}`);
        return fail(program, json, { exitCode: EXIT.usage, code: "usage", text });
      }
    }
    const named = await chooseChat(opened, values);
    if (!named.ok) return fail(program, json, { exitCode: EXIT.usage, code: "chat", text: named.text });
    const { chatId } = named;
    if (
      words.length === 0 &&
      program.inIsTerminal &&
      program.outIsTerminal &&
      !json &&
      values.events !== true
    ) {
      const { converse } = await import("./chat-interactive.ts");
      return await converse(program, opened, { chatId, route });
    }
    const text =
      words.length === 0 || (words.length === 1 && words[0] === "-") ? readMessage(program) : words.join(" ");
    if (text === null || text.trim() === "") {
      const said = text === null ? opened.messages.noInput : opened.chat.emptyMessage;
      return fail(program, json, { exitCode: EXIT.usage, code: "no-message", text: said });
    }
    return await sendOne(program, opened, text, { json, chatId, events: values.events === true, route });
  } finally {
    await opened.close();
  }
}

function readMessage(program: CliProgram): string | null {
  if (program.inIsTerminal) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(program.readInput());
  } catch {
    return null;
  }
}

const CHAT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** `--name NAME` goes on where that chat was; `--fork OTHER` has it begin with what the other one knows. */
async function chooseChat(
  { chat, fork }: OpenChatFolder,
  values: Flags["values"],
): Promise<{ readonly ok: true; readonly chatId: string } | { readonly ok: false; readonly text: string }> {
  const { name = "default", fork: from } = values;
  for (const given of [name, from])
    if (typeof given === "string" && !CHAT_NAME.test(given))
      return { ok: false, text: chat.badChatName(given) };
  const chatId = String(name);
  if (typeof from !== "string") return { ok: true, chatId };
  switch (await fork({ channel: "cli", chatId: from }, { channel: "cli", chatId })) {
    case "forked":
      return { ok: true, chatId };
    case "unknown":
      return { ok: false, text: chat.noSuchChat(from) };
    case "taken":
      return { ok: false, text: chat.chatTaken(chatId) };
  }
}

interface ChatOutput {
  readonly json: boolean;
  readonly chatId: string;
  readonly events: boolean;
  readonly route: Route | undefined;
}

async function sendOne(
  program: CliProgram,
  opened: OpenChatFolder,
  text: string,
  shown: ChatOutput,
): Promise<number> {
  const { json, chatId, events, route } = shown;
  const abort = new AbortController();
  const stop = () => abort.abort();
  for (const signal of STOPPING) process.once(signal, stop);
  const line = (value: unknown) => program.out(`${JSON.stringify(value)}\n`);
  const progress = createChatProgress(program, opened.chat, {
    streams: !json && !events,
    markdown:
      program.outIsTerminal && !program.env.NO_COLOR ? await import("./terminal-markdown.ts") : null,
  });
  let streamed = false;
  const onEvent = (event: ChatEvent) => {
    if (events) line(event.type === "notice" ? { type: event.type, text: event.text } : event);
    else if (!json) streamed = progress.event(event) || streamed;
  };
  try {
    const reply = await opened.conversation.handle(
      {
        channel: "cli",
        chatId,
        userId: "cli",
        text,
        ...(route !== undefined && { forcedRoute: route }),
      },
      { signal: abort.signal, onEvent },
    );
    progress.end();
    if (events) line({ type: "reply", ...chatReplyJson(reply) });
    else if (json) line(chatReplyJson(reply));
    else progress.reply(reply, streamed);
    return exitCodeOf(reply);
  } finally {
    for (const signal of STOPPING) process.off(signal, stop);
  }
}

/** The reply as the world reads it: snake_case, one document. */
export function chatReplyJson(reply: Reply): Record<string, unknown> {
  return { success: reply.ok, text: reply.text, ...replyJson(reply) };
}

/** A message that nobody could answer is refused; a job that ran and failed is a failure, also where its draft was thrown away. */
function exitCodeOf({ ok, jobs, brokenJob, said = [] }: Reply): number {
  if (ok) return EXIT.done;
  const hasRun = jobs.length > 0 || brokenJob !== undefined || said.some(({ kind }) => kind === "coder");
  return hasRun ? EXIT.failed : EXIT.refused;
}
