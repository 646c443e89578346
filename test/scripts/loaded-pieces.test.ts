import { expect, test } from "bun:test";
import { piecesByRuns, type Run } from "../../scripts/loaded-pieces.ts";

test("pieces that the same runs load lie together, and no run reads a piece that it does not use", () => {
  const loaded = new Map<Run, ReadonlySet<string>>([
    ["edit", new Set(["engine", "texts"])],
    ["jobs", new Set(["texts", "list"])],
    ["chat", new Set(["engine", "store", "config", "coder"])],
    ["serve", new Set(["texts", "store", "config", "web"])],
    ["help", new Set(["texts", "words"])],
  ]);
  expect(piecesByRuns(loaded)).toEqual([
    { run: "edit", pieces: new Set(["engine", "texts"]) },
    { run: "jobs", pieces: new Set(["list"]) },
    { run: "chat", pieces: new Set(["store", "config"]) },
    { run: "chat", pieces: new Set(["coder"]) },
    { run: "serve", pieces: new Set(["web"]) },
    { run: "help", pieces: new Set(["words"]) },
  ]);
});

test("a run that did not come about puts nothing together", () => {
  const loaded = new Map<Run, ReadonlySet<string>>([
    ["edit", new Set()],
    ["serve", new Set(["web"])],
  ]);
  expect(piecesByRuns(loaded)).toEqual([{ run: "serve", pieces: new Set(["web"]) }]);
});
