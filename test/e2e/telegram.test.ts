/** The real program with Telegram, polled through grammY's client, and a scripted model. */
import { afterAll, expect, test } from "bun:test";
import { createChatCli, proposal } from "../application/chat/chat-kit.ts";
import { pressing, saying, startTelegram } from "../fakes/telegram/telegram-server.ts";
import { until } from "./cli-kit.ts";

const TOKEN = "42:e2e-token";
const telegram = startTelegram(TOKEN);
const cli = createChatCli(
  [{ when: { role: "coder3" }, text: proposal("Write a", "```txt:a.txt\nnew\n```") }],
  `telegram: { base_url: "${telegram.url}" }\n`,
);
cli.write("a.txt", "old\n");
const serve = cli.start(["serve", "--port", "0"], { TELEGRAM_BOT_TOKEN: TOKEN });
afterAll(async () => {
  serve.kill("SIGTERM");
  await new Promise((resolve) => serve.once("close", resolve));
  telegram.stop();
  await cli.remove();
});
const shown = (part: string) => until(() => telegram.messages.find(({ text }) => text.includes(part)));

test("a stranger is given a code, is let in, changes a file, and takes it back by the button", async () => {
  telegram.post(saying(1, "hello"));
  const code = /pair ([A-Z0-9]{8})/.exec((await shown("pair")).text)?.[1] ?? "";
  expect(cli.run(["pair", code, "--role", "operator"])).toMatchObject({ code: 0 });

  telegram.post(saying(2, "/code3 write a.txt"));
  const applied = await shown("Applied");
  expect(cli.read("a.txt")).toBe("new\n");
  const [undo] = applied.keyboard.flat();
  expect(`${undo?.text}: ${undo?.callback_data}`).toMatch(/^Undo: \/undo /);

  telegram.post(pressing(3, String(undo?.callback_data), applied.id));
  await shown("Undone");
  expect(cli.read("a.txt")).toBe("old\n");
  const redo = await until(() => applied.keyboard.flat().find(({ text }) => text === "Redo"));
  expect(redo.callback_data).toMatch(/^\/redo /);
}, 300_000);
