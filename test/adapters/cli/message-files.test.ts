import { expect, test } from "bun:test";
import { findImagePaths } from "../../../src/adapters/cli/message-files.ts";

test.each([
  ["what is on @shot.png?", ["shot.png"]],
  ['@"my shot.png" and @docs/a.JPG', ["my shot.png", "docs/a.JPG"]],
  ["'/tmp/my shot.png' ", ["/tmp/my shot.png"]],
  ["/tmp/my\\ shot.webp ", ["/tmp/my shot.webp"]],
  ["look: ~/shot.gif", ["~/shot.gif"]],
  ["file:///tmp/a.png twice @a.png @a.png", ["file:///tmp/a.png", "a.png"]],
  ["rename logo.png to icon.png", []],
  ["https://example.org/a.png", []],
  ["@src/cart.ts", []],
])("%s", (text, paths) => {
  expect(findImagePaths(text)).toEqual(paths);
});
