import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { ACP_MESSAGE_BYTES, serveAcp } from "../../../src/adapters/acp/serve-acp.ts";
import type { AcpHost } from "../../../src/adapters/acp/sessions.ts";
import { MOST_IMAGE_BYTES, MOST_IMAGES } from "../../../src/domain/platform/image.ts";

/** An editor at the other end of two pipes; `answer` gives what the agent said last under an id. */
function connectEditor(limitBytes: number) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const logged: string[] = [];
  const host: AcpHost = {
    version: "0",
    open: () => Promise.reject(new Error("no folder is opened here")),
    only: null,
    realPath: (path) => path,
    newSessionId: () => "s",
    log: (text) => void logged.push(text),
  };
  const stop = new AbortController();
  const served = serveAcp(host, { input, output }, stop.signal, limitBytes);
  const answers = output.setEncoding("utf8")[Symbol.asyncIterator]();
  let said = "";
  const lines: string[] = [];
  const next = async () => {
    while (!said.includes("\n")) {
      const { value, done } = await answers.next();
      if (done === true) throw new Error("the agent is gone");
      said += value;
    }
    const line = said.slice(0, said.indexOf("\n"));
    lines.push(line);
    said = said.slice(line.length + 1);
    return JSON.parse(line) as Record<string, unknown>;
  };
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  return { send, next, lines, input, logged, served, end: () => stop.abort() };
}

const initialize = (id: number) => ({ id, method: "initialize", params: { protocolVersion: 1 } });

test("a message that is too long is refused under its own id, and the editor is served on", async () => {
  const editor = connectEditor(1_000);
  editor.send(initialize(1));
  expect(await editor.next()).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
  editor.send({ id: 2, method: "session/prompt", params: { prompt: "x".repeat(5_000) } });
  expect(await editor.next()).toMatchObject({
    id: 2,
    error: { code: -32600, message: "Invalid Request: the message is longer than 1000 bytes" },
  });
  editor.send({ method: "session/prompt", params: { prompt: "x".repeat(5_000) }, id: "late" });
  expect(await editor.next()).toMatchObject({ id: "late", error: { code: -32600 } });
  editor.send(initialize(3));
  expect(await editor.next()).toMatchObject({ id: 3, result: { protocolVersion: 1 } });
  expect(editor.logged).toEqual([]);
  editor.input.end();
  await editor.served;
});

test("ten images of the largest size fit into one message, as Base64", () => {
  const base64 = Math.ceil(MOST_IMAGE_BYTES / 3) * 4;
  expect(MOST_IMAGES * base64 + 1024 ** 2).toBeLessThan(ACP_MESSAGE_BYTES);
});

test("a message is read to its last byte, also when it arrives in pieces", async () => {
  const editor = connectEditor(10_000);
  const line = `${JSON.stringify({ jsonrpc: "2.0", ...initialize(1) })}\n`;
  for (const piece of line.match(/.{1,7}|\n/gs) ?? []) editor.input.write(piece);
  expect(await editor.next()).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
  editor.end();
  await editor.served;
  expect(editor.input.destroyed).toBe(true);
});

test("a message to the editor holds no character that a terminal would obey, and the same value", async () => {
  const editor = connectEditor(1_000);
  const id = "a\u202eb\u009bc";
  editor.send({ id, method: "initialize", params: { protocolVersion: 1 } });
  expect(await editor.next()).toMatchObject({ id, result: { protocolVersion: 1 } });
  editor.send({ id, method: "session/prompt", params: { prompt: "x".repeat(5_000) } });
  expect(await editor.next()).toMatchObject({ id, error: { code: -32600 } });
  expect(editor.lines.join()).not.toMatch(/[\u202a-\u202e\x7f-\x9f]/);
  editor.input.end();
  await editor.served;
});
