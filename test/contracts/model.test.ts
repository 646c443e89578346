import { afterAll, beforeAll, describe } from "bun:test";
import { createScriptedModel } from "../../src/infrastructure/models/scripted.ts";
import type { ScriptedReply } from "../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../fakes/model-server/server.ts";
import { modelContract } from "./model.ts";
import { type ModelBench, testParts } from "./model-kit.ts";
import { wireContract } from "./model-wire.ts";
import { openStubModel, WIRES } from "./stub-model.ts";

for (const kind of WIRES) {
  describe(kind.protocol, () => {
    let server: ModelServer;
    const waits: number[] = [];
    beforeAll(async () => {
      server = await startModelServer();
    });
    afterAll(() => server.stop());
    const bench = (): ModelBench => ({
      server,
      waits,
      say: (...replies) => server.say(...replies),
      asked: () => server.requests.length,
      open: (limits, deps) => openStubModel(kind, server, { ...testParts(waits, limits), ...deps }),
    });
    modelContract(bench);
    wireContract(bench, kind.begins);
  });
}

describe("scripted", () => {
  const waits: number[] = [];
  let answers: object[] = [];
  let asked = 0;
  modelContract(() => ({
    waits,
    asked: () => asked,
    say: (...replies) => {
      answers = replies.map((reply, index) => entryOf(reply, index === replies.length - 1));
    },
    open: (limits, deps) => {
      const model = createScriptedModel(
        { provider: "demo", model: "scripted", file: "/demo.yaml" },
        {
          ...testParts(waits, limits),
          ...deps,
          loadScript: async () => ({ answers: structuredClone(answers) }),
        },
      );
      return {
        ...model,
        generate: async function* (request) {
          let tries = request.signal.aborted ? 0 : 1;
          let last = "";
          for await (const event of model.generate(request)) {
            if (event.type === "retrying") tries += 1;
            if (event.type === "failed" && event.failure.code === "aborted" && last === "retrying")
              tries -= 1;
            last = event.type;
            yield event;
          }
          asked += tries;
        },
      };
    },
  }));
});

/** The same reply as a script tells it. */
function entryOf(reply: ScriptedReply, last: boolean): object {
  const { text, chunks, reasoning, toolCalls, finish, usage, fault } = reply;
  return {
    ...(!last && { times: 1 }),
    ...(text !== undefined && { text }),
    ...(chunks !== undefined && { chunks }),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { tool_calls: toolCalls }),
    ...(finish !== undefined && { finish }),
    ...(usage !== undefined && { usage }),
    ...(fault !== undefined && fault.kind !== "hang" && { fail: failOf(fault) }),
  };
}

function failOf(fault: NonNullable<ScriptedReply["fault"]>): object {
  if (fault.kind === "unauthorized" || fault.kind === "unknown-model") return { code: fault.kind };
  if (fault.kind === "context-length") return { code: "context-too-long" };
  if (fault.kind !== "status") return { code: "server-error" };
  const seconds = fault.headers?.["retry-after"];
  const { status } = fault;
  return {
    code: status === 429 ? "rate-limited" : status >= 500 ? "server-error" : "bad-request",
    status,
    ...(seconds !== undefined && { retry_after_ms: Number(seconds) * 1000 }),
  };
}
