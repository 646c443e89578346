import { RequestError, type SessionUpdate } from "@agentclientprotocol/sdk";
import type { NotOpened } from "../../application/ports/opening.ts";
import { wordRepair } from "../../application/jobs/word-repair.ts";
import type { AcpHost, EditorFolder } from "./host.ts";
import { createEditorUpdates } from "./tell-event.ts";
import { tellReply } from "./tell-reply.ts";

const CHANNEL = "acp";
/** Also the name of the chat, and so a part of the session's id and of files. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface AcpSession {
  readonly id: string;
  readonly folder: EditorFolder;
  /** Never rejects. `cancelled` when the editor stopped it: what it had begun was taken back. */
  prompt(text: string, on: PromptEvents): Promise<"end_turn" | "cancelled">;
  cancel(): void;
}

export interface PromptEvents {
  readonly signal: AbortSignal;
  send(update: SessionUpdate): void;
}

/** The sessions of one editor. A session is a chat of a folder; folders are opened once and stay open until the end. */
export function createAcpSessions(host: AcpHost) {
  const folders = new Map<string, Promise<EditorFolder>>();
  const sessions = new Map<string, AcpSession>();
  const running = new Set<Promise<unknown>>();

  function openFolder(cwd: string): Promise<EditorFolder> {
    const known = folders.get(cwd);
    if (known !== undefined) return known;
    const opening = host.open(cwd).then(async (opened) => {
      if (!opened.ok) throw new RequestError(-32603, wordNotOpened(opened));
      const { messages, workspace } = opened;
      for (const warning of opened.warnings)
        host.log(`${messages.warningLabel} ${messages.configWarning(warning)}`);
      const repaired = await workspace.repair();
      if (repaired !== null) host.log(wordRepair(messages, repaired));
      for (const jobId of await workspace.closeDeadJobs()) host.log(messages.jobDied(jobId));
      return opened;
    });
    folders.set(cwd, opening);
    opening.catch(() => folders.delete(cwd));
    return opening;
  }

  function createSession(id: string, folder: EditorFolder): AcpSession {
    const stops = new Set<AbortController>();
    return {
      id,
      folder,
      cancel() {
        for (const stop of stops) stop.abort();
      },
      async prompt(text, { signal, send }) {
        const stop = new AbortController();
        stops.add(stop);
        const told = createEditorUpdates(send);
        const handled = folder.conversation.handle(
          { channel: CHANNEL, chatId: id, userId: CHANNEL, text },
          { signal: AbortSignal.any([stop.signal, signal]), onEvent: told.event },
        );
        running.add(handled);
        try {
          tellReply(folder, await handled, told, send);
          return stop.signal.aborted || signal.aborted ? "cancelled" : "end_turn";
        } finally {
          running.delete(handled);
          stops.delete(stop);
        }
      },
    };
  }

  return {
    /** A new session, or with an id the one that was left, whose chat goes on where it was. */
    async begin(cwd: string, id = host.newSessionId()): Promise<AcpSession> {
      const refused = host.refuses(cwd);
      if (refused !== null) throw RequestError.invalidParams({ cwd }, refused);
      if (!SESSION_ID.test(id)) throw RequestError.invalidParams({ sessionId: id });
      const session = createSession(id, await openFolder(cwd));
      sessions.set(id, session);
      return session;
    },
    find(id: string): AcpSession {
      const session = sessions.get(id);
      if (session === undefined) throw RequestError.resourceNotFound(id);
      return session;
    },
    /** Stops what runs in it; its chat can be resumed. */
    end(id: string): void {
      sessions.get(id)?.cancel();
      sessions.delete(id);
    },
    async close(): Promise<void> {
      for (const session of sessions.values()) session.cancel();
      await Promise.allSettled(running);
      for (const folder of await Promise.allSettled(folders.values()))
        if (folder.status === "fulfilled") await folder.value.close();
    },
  };
}

function wordNotOpened({ messages, problems, message = "" }: NotOpened): string {
  if (problems.length === 0) return message;
  return [messages.configInvalid, ...problems.map(messages.configProblem)].join("\n  ");
}
