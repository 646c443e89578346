import { expect, test } from "bun:test";
import {
  chooseOffered,
  findNewer,
  findSuccessor,
  SHIPPED_CATALOGUE,
} from "../../../src/domain/models/catalogue.ts";

test.each([
  ["claude-sonnet-5-5", ["claude-sonnet-5-5", "claude-sonnet-6", "claude-opus-7"], "claude-sonnet-6"],
  ["claude-sonnet-5-5", ["claude-sonnet-5-5", "claude-sonnet-5-5-20261101", "claude-sonnet-5"], null],
  ["claude-sonnet-5-5", ["claude-sonnet-10-1", "claude-sonnet-9-9"], "claude-sonnet-10-1"],
  ["gpt-6.1-sol", ["gpt-6.1-terra", "gpt-7-sol-preview", "gpt-6.2-sol"], "gpt-7-sol-preview"],
  ["gemini-3.1-pro-preview", ["gemini-3.1-pro", "gemini-3.8-flash"], "gemini-3.1-pro"],
  ["gpt-6.1-sol", ["gpt-sol-latest"], null],
  ["my-model", ["my-model", "other-2"], null],
  ["/models/some.gguf", ["some.gguf"], null],
  ["anthropic/claude-sonnet-5.5", ["anthropic/claude-sonnet-6", "openai/gpt-9"], "anthropic/claude-sonnet-6"],
] as const)("newer than %s in %p is %p", (model, offered, newer) => {
  expect(findNewer(offered, model)).toBe(newer);
});

test.each([
  ["claude-sonnet-4-6", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-5"], "claude-sonnet-5-5"],
  // The line is gone: the newest that is priced alike.
  ["gpt-5.1", ["gpt-6-luna", "gpt-6.1-sol", "whisper-1"], "gpt-6.1-sol"],
  ["nonsense", ["claude-sonnet-5-5"], null],
  ["claude-sonnet-4-6", [], null],
] as const)(
  "a provider that no longer serves %s and lists %p has %p in its place",
  (model, offered, successor) => {
    expect(findSuccessor(offered, model, SHIPPED_CATALOGUE)).toBe(successor);
  },
);

test.each([
  [["text-embed-1", "claude-sonnet-6"], ["claude-sonnet-5-5"], "claude-sonnet-6"],
  [["dall-e-3", "gpt-5", "gpt-5-mini", "gpt-6.1-sol"], ["gpt-5.9-sun"], "gpt-6.1-sol"],
  [
    ["meta/llama-5", "google/gemini-3.1-pro"],
    ["claude-sonnet-5-5", "gemini-3.1-pro-preview"],
    "google/gemini-3.1-pro",
  ],
  [["phi-5", "qwen4-coder:30b"], [], "qwen4-coder:30b"],
  [[], ["claude-sonnet-5-5"], null],
] as const)("of %p a provider's model is chosen in place of %p: %p", (offered, usual, chosen) => {
  expect(chooseOffered(offered, usual, SHIPPED_CATALOGUE)).toBe(chosen);
});
