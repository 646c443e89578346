import type { WorkerProgress } from "../../application/ports/heads.ts";
import type { ProcessInput } from "../../application/ports/platform-processes.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import {
  listAt,
  objectAt,
  readJsonLines,
  readTrouble,
  type StreamEvent,
  textAt,
} from "./kinds/worker-kind.ts";

/** How PicoClaw talks with the process of a head for one turn. */
export type HeadTalk = ReturnType<typeof createAcpTalk>;

export interface AcpTalkDeps {
  readonly prompt: string;
  /** The folder it works in. */
  readonly folder: string;
  /** The session to continue; null: a new one. */
  readonly resume: string | null;
  /** `head.permissions`: the answer to what it asks leave for. */
  readonly permissions: "allow" | "refuse";
  /** Requests for permission that are answered; after so many it is ended. */
  readonly mostAsked: number;
  /** Called when the turn is over, or when it asks without end. */
  readonly onOver: () => void;
}

/** Modes in which agents ask for nothing: the draft is the fence. */
const FREE_MODES = ["bypassPermissions", "yolo", "full-access", "fullAccess", "agent-full-access"];

const UNKNOWN_METHOD = -32601;
const LOGIN_WANTED = -32000;

/**
 * The client's side of the Agent Client Protocol, over one process and for one turn:
 *   initialize → session/load or session/new → session/set_mode → session/prompt
 * It offers neither files nor terminals: what the agent does it does in the draft, which alone bears witness to it.
 */
export function createAcpTalk(deps: AcpTalkDeps) {
  let input: ProcessInput | null = null;
  let next = 1;
  let sessionId = "";
  let summary = "";
  /** The last reported text is the summary, and may grow. */
  let isOpen = false;
  let error: string | null = null;
  let isDone = false;
  let isLost = false;
  let asked = 0;
  let isPrompted = false;
  let keyMethod: string | null = null;
  const waiting = new Map<number, (result: StreamEvent, failure: StreamEvent | null) => void>();
  const edits = new Set<string>();

  const send = (message: object) => input?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  function call(
    method: string,
    params: object,
    then: (result: StreamEvent, failure: StreamEvent | null) => void,
  ): void {
    const id = next++;
    waiting.set(id, then);
    send({ id, method, params });
  }

  function over(why: string | null): void {
    if (isDone) return;
    isDone = true;
    error = why;
    input?.end();
    deps.onOver();
  }

  const wordFailure = (failure: StreamEvent) => {
    const detail =
      textAt(objectAt(failure, "data"), "message") || textAt(objectAt(failure, "data"), "details");
    return [textAt(failure, "message") || "error", detail].filter((part) => part !== "").join(": ");
  };

  function begin(): void {
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
    call("initialize", { protocolVersion: 1, clientCapabilities }, (result, failure) => {
      if (failure !== null) return over(wordFailure(failure));
      const methods = listAt(result, "authMethods").map((method) => textAt(method, "id"));
      keyMethod = methods.find((method) => /api[-_]?key/i.test(method)) ?? null;
      const loads = objectAt(result, "agentCapabilities").loadSession === true;
      openSession(loads ? deps.resume : null);
    });
  }

  function openSession(resume: string | null): void {
    const where = { cwd: deps.folder, mcpServers: [] };
    if (resume === null) {
      call("session/new", where, (result, failure) => {
        if (failure?.code === LOGIN_WANTED && keyMethod !== null) return logIn();
        if (failure !== null) return over(wordFailure(failure));
        sessionId = textAt(result, "sessionId");
        chooseMode(result);
      });
      return;
    }
    call("session/load", { sessionId: resume, ...where }, (result, failure) => {
      if (failure !== null) {
        isLost = true;
        return over(wordFailure(failure));
      }
      sessionId = resume;
      chooseMode(result);
    });
  }

  /** By the key that it was given; no person is there for another way. */
  function logIn(): void {
    const methodId = keyMethod;
    keyMethod = null;
    call("authenticate", { methodId }, (_, failure) =>
      failure === null ? openSession(null) : over(wordFailure(failure)),
    );
  }

  function chooseMode(opened: StreamEvent): void {
    const offered = listAt(objectAt(opened, "modes"), "availableModes").map((mode) => textAt(mode, "id"));
    const free = deps.permissions === "allow" ? FREE_MODES.find((mode) => offered.includes(mode)) : undefined;
    if (free === undefined) prompt();
    // If it refuses the mode, continue: it then asks for permission, and is answered.
    else call("session/set_mode", { sessionId, modeId: free }, () => prompt());
  }

  function prompt(): void {
    isPrompted = true;
    summary = "";
    call(
      "session/prompt",
      { sessionId, prompt: [{ type: "text", text: deps.prompt }] },
      (result, failure) => {
        if (failure !== null) return over(wordFailure(failure));
        const stopped = textAt(result, "stopReason");
        over(stopped === "refusal" || stopped === "cancelled" ? stopped : null);
      },
    );
  }

  /** Leave is given once at a time, where that is offered. */
  function answerPermission(id: unknown, params: StreamEvent): void {
    asked++;
    if (asked > deps.mostAsked) {
      send({ id, result: { outcome: { outcome: "cancelled" } } });
      over(null);
      return;
    }
    const wanted =
      deps.permissions === "allow" ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
    const options = listAt(params, "options");
    const option = wanted
      .map((kind) => options.find((one) => textAt(one, "kind") === kind))
      .find((one) => one !== undefined);
    const outcome =
      option === undefined
        ? { outcome: "cancelled" }
        : { outcome: "selected", optionId: textAt(option, "optionId") };
    send({ id, result: { outcome } });
  }

  function onUpdate(update: StreamEvent): WorkerProgress[] {
    // A loaded session is replayed from its beginning.
    if (!isPrompted) return [];
    const grown = isOpen;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        summary += textAt(objectAt(update, "content"), "text");
        isOpen = true;
        return [{ kind: "text", text: summary, grown }];
      case "plan": {
        isOpen = false;
        const entries = listAt(update, "entries").map(
          (entry) => `${ownMember(MARKS, textAt(entry, "status")) ?? "·"} ${textAt(entry, "content")}`,
        );
        return entries.length === 0 ? [] : [{ kind: "text", text: entries.join("\n") }];
      }
      case "tool_call":
        summary = "";
        isOpen = false;
        return onToolCall(update);
      default:
        return [];
    }
  }

  function onToolCall(update: StreamEvent): WorkerProgress[] {
    const title = textAt(update, "title");
    const raw = objectAt(update, "rawInput");
    switch (update.kind) {
      case "execute":
        return [{ kind: "command", command: textAt(raw, "command") || title }];
      case "edit":
      case "delete":
      case "move": {
        const [first] = listAt(update, "locations");
        const path = first === undefined ? title : textAt(first, "path");
        edits.add(path);
        return [{ kind: "edit", path }];
      }
      default:
        return [{ kind: "tool", name: title || textAt(update, "kind") }];
    }
  }

  function on(message: StreamEvent): WorkerProgress[] {
    const { id, method } = message;
    if (typeof method !== "string") {
      const then = typeof id === "number" ? waiting.get(id) : undefined;
      if (then === undefined) return [];
      waiting.delete(id as number);
      const failed = typeof message.error === "object" && message.error !== null;
      const failure = failed ? objectAt(message, "error") : null;
      then(objectAt(message, "result"), failure);
      return failure === null ? [] : [readTrouble(wordFailure(failure))];
    }
    const params = objectAt(message, "params");
    if (method === "session/update") return onUpdate(objectAt(params, "update"));
    if (id === undefined) return [];
    if (method === "session/request_permission") answerPermission(id, params);
    else send({ id, error: { code: UNKNOWN_METHOD, message: `not offered: ${method}` } });
    return [];
  }

  const lines = readJsonLines({
    on,
    end: () => ({ summary, error, usage: NO_USAGE, saidChanged: [...edits], sessionId }),
  });
  return {
    onStart(opened: ProcessInput) {
      input = opened;
      begin();
    },
    feed: lines.feed,
    /** After the last line. */
    end: lines.end,
    /** The turn is over, though the process may wait for another. */
    isDone: () => isDone,
    /** How often it asked for permission. */
    asked: () => asked,
    /** The session to continue does not exist. */
    lostSession: () => isLost,
  };
}

const MARKS: Readonly<Record<string, string>> = { pending: "·", in_progress: "→", completed: "✓" };
