/** Where a message came from, and where its answer goes. */
export interface TelegramPlace {
  readonly chat: string;
  /** A topic of a group. */
  readonly thread?: number;
  /** The message whose button was pressed. */
  readonly pressed?: number;
}

/** `-100123:7` is a topic of a group, `4711` a person or a whole group. */
export function telegramPlaceIn(
  chatId: string,
  replyTo: Readonly<Record<string, unknown>> = {},
): TelegramPlace {
  const [chat = "", thread] = chatId.split(":");
  const { pressed } = replyTo;
  return {
    chat,
    ...(thread !== undefined && { thread: Number(thread) }),
    ...(typeof pressed === "number" && { pressed }),
  };
}

export function chatIdOf({
  chat,
  thread,
}: {
  readonly chat: number;
  readonly thread?: number | undefined;
}): string {
  return thread === undefined ? String(chat) : `${chat}:${thread}`;
}

export function threadOf({ thread }: TelegramPlace) {
  return thread === undefined ? {} : { message_thread_id: thread };
}
