import { createPublisher } from "../../../src/infrastructure/forges/publisher.ts";
import { createOwnerNames } from "../../../src/infrastructure/platform/process-table.ts";

/** Publishes to an address that never answers, until it is killed. */
const [folder = "", cloneUrl = ""] = process.argv.slice(2);
const publisher = createPublisher({
  folder,
  path: process.env.PATH ?? "",
  passed: {},
  timeoutMs: 600_000,
  owner: createOwnerNames(process.pid).next(),
});
await publisher.publish({
  cloneUrl,
  credentials: { username: "x-access-token", token: "token-in-a-file" },
  baseCommit: "0".repeat(40),
  baseBranch: "main",
  branch: "picoclaw/1",
  previous: null,
  tree: null,
  patch: new TextEncoder().encode("diff --git a/a b/a\n"),
  message: "x",
  author: { name: "x", email: "x@example.org" },
  at: new Date(0),
  isProtected: () => false,
  leftOut: () => [],
  secrets: [],
  insecureTls: false,
  signal: new AbortController().signal,
});
