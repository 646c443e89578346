import { expect, test } from "bun:test";
import { executionSummary } from "../../../src/domain/patch/patch-command.ts";

test("commands are counted by kind, an unknown type in the total only", () => {
  const types = ["file_edit", "file_edit", "shell_command", "git_operation", "teleport"];
  const commands = types.map((type) => ({ type, action: "a", target: "t", content: "" }));
  expect(executionSummary(commands)).toEqual({
    totalCommands: 5,
    fileEdits: 2,
    shellCommands: 1,
    gitOperations: 1,
  });
  expect(executionSummary([])).toEqual({
    totalCommands: 0,
    fileEdits: 0,
    shellCommands: 0,
    gitOperations: 0,
  });
});
