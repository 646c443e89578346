import { expect, test } from "bun:test";
import { wordStateForCoder } from "../../../src/application/checks/checks-state.ts";

test("a command that ends with points is told apart from the sentence around it", () => {
  const checks = ["go test ./...", "ruff check ."].map((command) => ({ command, result: null }));
  expect(wordStateForCoder({ checks, none: null })).toEndWith("`go test ./...`; `ruff check .`.");
});
