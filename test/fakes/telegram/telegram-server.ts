/** Telegram's Bot API on a free port of this machine: what a bot sends is kept, what people do is posted or polled. */
interface TelegramMessage {
  readonly chat: string;
  readonly id: number;
  text: string;
  readonly silent: boolean;
  readonly thread: number | null;
  readonly html: boolean;
  keyboard: readonly (readonly Record<string, unknown>[])[];
}

type Answer = () => Response | Promise<Response>;

export function startTelegram(token: string) {
  const messages: TelegramMessage[] = [];
  const files: { readonly chat: string; readonly text: string }[] = [];
  /** Files that people sent, by their id. */
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  const calls: string[] = [];
  const faults: { readonly method: string; readonly answer: Answer }[] = [];
  let updates: Record<string, unknown>[] = [];
  let nextId = 100;
  let webhook: Record<string, unknown> | null = null;
  let arrived = Promise.withResolvers<void>();
  const ok = (result: unknown) => Response.json({ ok: true, result });
  const bad = (error_code: number, description: string, parameters = {}) =>
    Response.json({ ok: false, error_code, description, parameters }, { status: error_code });

  async function api(method: string, args: Record<string, unknown>): Promise<Response> {
    switch (method) {
      case "getMe":
        return ok({ id: 1, is_bot: true, first_name: "PicoClaw", username: "pico_bot" });
      case "getFile": {
        const id = String(args.file_id);
        if (!contents.has(id)) return bad(400, "Bad Request: wrong file_id");
        return ok({ file_id: id, file_unique_id: id, file_path: `photos/${id}` });
      }
      case "sendMessage": {
        const { chat_id: chat, text, message_thread_id: thread = null, parse_mode: mode } = args;
        if (String(text).length > 4096 + 200) return bad(400, "Bad Request: message is too long");
        if (mode === "HTML" && /<(?!\/?(?:b|pre|code|a)[ >])/.test(String(text)))
          return bad(400, "Bad Request: can't parse entities: Unsupported start tag");
        const { inline_keyboard: keyboard = [] } = (args.reply_markup ?? {}) as {
          inline_keyboard?: Record<string, unknown>[][];
        };
        const tooLong = keyboard
          .flat()
          .some(({ callback_data: data = "" }) => Buffer.byteLength(String(data)) > 64);
        if (tooLong) return bad(400, "Bad Request: BUTTON_DATA_INVALID");
        const id = nextId++;
        const sent = {
          chat: String(chat),
          id,
          text: String(text),
          thread: thread as number | null,
          silent: args.disable_notification === true,
        };
        messages.push({ ...sent, html: mode === "HTML", keyboard });
        return ok({ message_id: id, date: 0, chat: { id: Number(chat), type: "private" }, text });
      }
      case "editMessageReplyMarkup": {
        const found = messages.find(({ id }) => id === Number(args.message_id));
        if (found === undefined) return bad(400, "Bad Request: message to edit not found");
        found.keyboard = (
          args.reply_markup as { inline_keyboard: Record<string, unknown>[][] }
        ).inline_keyboard;
        return ok(true);
      }
      case "editMessageText": {
        const found = messages.find(({ id }) => id === Number(args.message_id));
        if (found === undefined) return bad(400, "Bad Request: message to edit not found");
        found.text = String(args.text);
        return ok(true);
      }
      case "deleteMessage": {
        const at = messages.findIndex(({ id }) => id === Number(args.message_id));
        if (at === -1) return bad(400, "Bad Request: message to delete not found");
        messages.splice(at, 1);
        return ok(true);
      }
      case "sendDocument":
        files.push({ chat: String(args.chat_id), text: String(args.document) });
        return ok({ message_id: nextId++, date: 0, chat: { id: Number(args.chat_id), type: "private" } });
      case "setWebhook":
        webhook = args;
        return ok(true);
      case "deleteWebhook":
        webhook = null;
        return ok(true);
      case "sendChatAction":
      case "answerCallbackQuery":
        return ok(true);
      case "getUpdates": {
        if (webhook !== null)
          return bad(409, "Conflict: can't use getUpdates method while webhook is active");
        updates = updates.filter(({ update_id: id }) => Number(id) >= Number(args.offset ?? 0));
        if (updates.length === 0) await Promise.race([arrived.promise, Bun.sleep(1_000)]);
        return ok(updates);
      }
      default:
        return bad(404, "Not Found");
    }
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 120,
    async fetch(request) {
      const [, holder, id = ""] =
        /^\/file\/bot([^/]+)\/photos\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
      if (holder === token) return new Response(contents.get(id));
      const [, given, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
      if (given !== token) return bad(401, "Unauthorized");
      calls.push(method);
      const fault = faults.findIndex((one) => one.method === method);
      if (fault !== -1) return (faults.splice(fault, 1)[0] as { answer: Answer }).answer();
      return api(method, await argumentsOf(request));
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    messages,
    files,
    contents,
    calls,
    faults,
    webhook: () => webhook,
    /** Updates that are not acknowledged yet. */
    waiting: () => updates.map(({ update_id: id }) => id),
    /** A person did something; a polling client gets it. */
    post(update: Record<string, unknown>): void {
      updates.push(update);
      arrived.resolve();
      arrived = Promise.withResolvers();
    },
    stop: () => void server.stop(true),
  };
}

/** JSON, or a form where a file comes along. */
async function argumentsOf(request: Request): Promise<Record<string, unknown>> {
  const type = request.headers.get("content-type") ?? "";
  if (type.includes("json")) return (await request.json()) as Record<string, unknown>;
  if (!type.includes("form-data")) return {};
  const args: Record<string, unknown> = {};
  for (const [name, value] of await request.formData())
    args[name === "document" || typeof value === "string" ? name : "document"] =
      typeof value === "string" ? value : await value.text();
  return args;
}

const ALICE = { id: 7, is_bot: false, first_name: "Alice" };

/** Telegram's update when Alice writes to the bot. */
export function saying(updateId: number, text: string, more: Record<string, unknown> = {}) {
  const chat = { id: 7, type: "private", first_name: "Alice" };
  return {
    update_id: updateId,
    message: { message_id: updateId, date: 0, chat, from: ALICE, text, ...more },
  };
}

/** Alice presses a button under one of the bot's messages. */
export function pressing(updateId: number, data: string, messageId: number) {
  const message = { message_id: messageId, date: 1, chat: { id: 7, type: "private" } };
  return {
    update_id: updateId,
    callback_query: { id: `q${updateId}`, from: ALICE, chat_instance: "c", data, message },
  };
}
