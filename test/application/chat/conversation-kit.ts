/** The whole conversation in this process: a real Worker, a real store, and models that a test tells what to say. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Advise } from "../../../src/application/platform/advise.ts";
import type { ChatEvent, IncomingMessage, Reply } from "../../../src/application/ports/chat.ts";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { openChat } from "../../../src/wiring/chat.ts";
import { treeOf } from "../../e2e/cli-kit.ts";
import {
  type AskedRequest,
  createFakeModels,
  type FakeAnswer,
  type FakeOptions,
} from "../../fakes/fake-models.ts";

export interface ConversationOptions extends FakeOptions {
  /** YAML. */
  readonly config?: string;
  readonly locale?: "ja" | "en";
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => Date;
  readonly advise?: Advise;
  /** The models that the configuration names, on servers of the test. Default: fakes. */
  readonly ownModels?: true;
}

export async function openConversation(
  answer: (asked: AskedRequest, at: number) => FakeAnswer | Promise<FakeAnswer>,
  options: ConversationOptions = {},
) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-chat-")));
  const workspace = join(folder, "ws");
  const home = join(folder, "home");
  mkdirSync(workspace);
  mkdirSync(home);
  if (options.config !== undefined) writeFileSync(join(home, "config.yaml"), options.config);
  const fake = createFakeModels(answer, options);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    PICOCLAW_HOME: home,
    PICOCLAW_LOCALE: options.locale ?? "en",
    ...options.env,
  };
  const open = async () => {
    const chat = await openChat(
      env,
      { cwd: workspace },
      {
        ...(options.ownModels !== true && { models: fake.models }),
        ...(options.now !== undefined && { now: options.now }),
        ...(options.advise !== undefined && { advise: options.advise }),
      },
    );
    if (!chat.ok) throw new Error(JSON.stringify(chat.problems) + chat.message);
    return chat;
  };
  let opened = await open().catch(async (error: unknown) => {
    await removeTree(folder);
    throw error;
  });
  const events: ChatEvent[] = [];
  return {
    ...fake,
    workspace,
    home,
    archive: opened.workspace.archive,
    events,
    conversation: opened.conversation,
    images: () => opened.images,
    commands: opened.commands,
    /** As a restart of the program: everything is closed and opened again. */
    async reopen() {
      await opened.close();
      opened = await open();
    },
    send(text: string, more: Partial<IncomingMessage> & { signal?: AbortSignal } = {}): Promise<Reply> {
      const { signal = new AbortController().signal, ...message } = more;
      return opened.conversation.handle(
        { channel: "cli", chatId: "default", userId: "u", text, ...message },
        { signal, onEvent: (event) => events.push(event) },
      );
    },
    write(path: string, text: string | Uint8Array): void {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path: string) => readFileSync(join(workspace, path), "utf8"),
    tree: () => treeOf(workspace),
    async close() {
      await opened.close();
      await removeTree(folder);
    },
  };
}

export type OpenedConversation = Awaited<ReturnType<typeof openConversation>>;
