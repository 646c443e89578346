import { expect, test } from "bun:test";
import { editorAddress } from "../../../src/domain/texts/format-text.ts";
import { createRunningEditor } from "../../../src/infrastructure/platform/running-editor.ts";

test("a file opens at its line in the running editor, for any characters in its name", () => {
  const file = '/ws/a b/ü#?"<x>.ts';
  expect(editorAddress("vscode", file, 12)).toBe("vscode://file/ws/a%20b/%C3%BC%23%3F%22%3Cx%3E.ts:12");
  expect(editorAddress("zed", "/ws/a.ts", 1)).toBe("zed://file/ws/a.ts:1");
  expect(editorAddress("pycharm", file, 3)).toBe(
    "pycharm://open?file=%2Fws%2Fa%20b%2F%C3%BC%23%3F%22%3Cx%3E.ts&line=3",
  );
});

test("the editor is the one whose terminal started the program, otherwise one that runs, looked for now and then", () => {
  const clock = { ms: 0 };
  const now = () => new Date(clock.ms);
  const running = { names: ["bash", "zed-editor"], looks: 0 };
  const list = () => {
    running.looks += 1;
    return running.names;
  };
  expect(createRunningEditor({ TERM_PROGRAM: "vscode" }, now, list)()).toBe("vscode");
  expect(createRunningEditor({ TERMINAL_EMULATOR: "JetBrains-JediTerm" }, now, list)()).toBe("idea");
  expect(running.looks).toBe(0);
  const found = createRunningEditor({}, now, list);
  expect([found(), found(), running.looks]).toEqual(["zed", "zed", 1]);
  running.names = ["decode", "codex"];
  clock.ms = 31_000;
  expect([found(), running.looks]).toEqual([null, 2]);
  const broken = createRunningEditor({}, now, () => {
    throw new Error("no /proc");
  });
  expect(broken()).toBeNull();
});
