import type { Chat, ChatKey, MessageStore } from "../ports/serve.ts";
import { type Viewer, viewerIdentities, type WhoSpeaks } from "./viewer.ts";

export interface OwnChatsDeps {
  readonly chats: MessageStore["chats"];
  /** Whether nobody but that person and PicoClaw is in it. */
  readonly isDirect: (chat: ChatKey & { readonly userId: string }) => boolean;
}

/** The one-to-one chats of a person, whichever channel they are on. Groups are nobody's own. */
export interface OwnChats {
  /** Newest first. */
  list(viewer: Viewer, limit: number): Promise<readonly Chat[]>;
  /** As whom the viewer speaks in a chat of theirs; null: it is not theirs. */
  speaker(viewer: Viewer, chat: ChatKey): Promise<WhoSpeaks | null>;
}

const MOST = 1_000;

export function createOwnChats({ chats, isDirect }: OwnChatsDeps): OwnChats {
  const directOf = async (who: WhoSpeaks, limit: number) =>
    (await chats({ ...who, limit })).filter(({ channel, chatId }) =>
      isDirect({ channel, chatId, userId: who.userId }),
    );
  return {
    async list(viewer, limit) {
      const all = await Promise.all(viewerIdentities(viewer).map((who) => directOf(who, limit)));
      return all
        .flat()
        .sort((one, other) => other.lastAt.localeCompare(one.lastAt))
        .slice(0, limit);
    },
    async speaker(viewer, { channel, chatId }) {
      for (const who of viewerIdentities(viewer).filter((one) => one.channel === channel))
        if ((await directOf(who, MOST)).some((chat) => chat.chatId === chatId)) return who;
      return null;
    },
  };
}
