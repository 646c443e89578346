import { describe, expect, test } from "bun:test";
import type {
  PrepareFailure,
  PrepareNotice,
  PrepareStep,
} from "../../../src/domain/containers/preparation.ts";
import { type EnvironmentMessages, environmentMessages } from "../../../src/domain/texts/containers.ts";

const STEPS: Readonly<Record<PrepareStep, true>> = {
  choosing: true,
  "pulling-image": true,
  "building-image": true,
  "deriving-image": true,
  "removing-existing": true,
  creating: true,
  cloning: true,
  "checking-out": true,
  fetching: true,
  installing: true,
  ready: true,
};
const FAILURES: Readonly<Record<PrepareFailure["code"], true>> = {
  aborted: true,
  engine: true,
  "image-missing": true,
  "image-failed": true,
  "repository-missing": true,
  "repository-denied": true,
  "ref-missing": true,
  "not-a-repository": true,
  "host-unreachable": true,
  "clone-timeout": true,
  "clone-failed": true,
  "disk-full": true,
  "credential-kept": true,
  "bad-input": true,
};
const REMEDIES: Readonly<Record<NonNullable<PrepareFailure["remedy"]>, true>> = {
  "images-build": true,
  "check-image": true,
  "start-docker": true,
  "check-token": true,
  "allow-host": true,
  "check-name": true,
  "use-https": true,
  "raise-limit": true,
};
const failed = (
  why: Extract<PrepareNotice, { code: "install-failed" }>["why"],
  output = "",
  leftOut: readonly string[] | null = null,
) => ({ code: "install-failed", command: "npm ci", why, output, leftOut }) as const;
const NOTICES: readonly PrepareNotice[] = [
  { code: "unknown-environment", asked: "cobol", used: "python" },
  { code: "nearest", language: "Ruby", wanted: "ruby", used: "python" },
  { code: "detected", environment: "node", because: "package.json" },
  { code: "uncommitted", count: 1 },
  { code: "uncommitted", count: 2 },
  { code: "no-common-commit", target: "main" },
  { code: "insecure-host", host: "h" },
  failed({ kind: "exit", exitCode: 1 }, "one\ntwo"),
  failed({ kind: "timeout", seconds: 600 }),
  failed({ kind: "other", detail: "gone" }, "", []),
  failed({ kind: "refused", hosts: [{ host: "h:443", key: "allowed_domains" }] }, "", ["one", "two"]),
  { code: "program-missing", program: "bundle", file: "Gemfile" },
];

/** Everything that is said, with the same facts. */
function said(texts: EnvironmentMessages): readonly string[] {
  const keys = <Name extends string>(names: Readonly<Record<Name, true>>) => Object.keys(names) as Name[];
  return [
    ...keys(STEPS).map((step) => texts.step(step, "subject")),
    ...keys(FAILURES).flatMap((code) => [
      texts.failure(code, "subject", "detail"),
      texts.failure(code, "x", ""),
    ]),
    ...keys(REMEDIES).map((remedy) => texts.remedy(remedy, "coding-agent-executor-node:latest")),
    ...NOTICES.map(texts.notice),
    texts.prepared({ name: "n", environment: "e", image: "i", path: "/p" }),
    texts.installed({ done: 1, total: 2 }),
    ...[texts.noEnvironments, texts.noCommand, texts.rootNeedsRoot, ...texts.listHeader],
    ...[texts.unknownTask, texts.notReady, texts.removed, texts.nothingToRemove].map((of) => of("t")),
    texts.leftOver("container", "c", "busy"),
    ...[1, 2].map(texts.pruned),
    ...(["unchanged", "building", "built"] as const).map((what) => texts.image("i", what)),
    texts.images([], ["a"]),
    texts.images(["a"], []),
    texts.unknownImage("x", ["a", "b"]),
    ...[texts.missingOption, texts.badTask, texts.badTimeout].map((of) => of("x")),
    texts.unknownEnvironment("x", ["a"]),
    texts.unknownSubcommand("x", ["a"]),
  ];
}

describe("what people read of environments", () => {
  test("is there in both languages, and nothing is left untranslated", () => {
    const [ja, en] = [said(environmentMessages("ja")), said(environmentMessages("en"))];
    expect(ja).toHaveLength(en.length);
    for (const [at, text] of en.entries()) {
      expect(text.trim()).not.toBe("");
      const plain = text === "x: detail" || text === "subject: detail" || text === "x: ";
      if (!plain) expect([at, ja[at]]).not.toEqual([at, text]);
    }
    expect(ja.filter((text) => /[ぁ-んァ-ヶ一-龠]/.test(text)).length).toBeGreaterThan(ja.length - 6);
    expect(en.filter((text) => /[ぁ-んァ-ヶ一-龠]/.test(text))).toEqual([]);
  });

  test("names the next commands, the same in both", () => {
    for (const locale of ["ja", "en"] as const) {
      const texts = environmentMessages(locale);
      expect(texts.nextSteps("t-1")).toContain("picoclaw env exec --task t-1 -- COMMAND");
      expect(texts.remedy("images-build", "coding-agent-executor-node:latest")).toEndWith(
        "picoclaw images build coding-agent-executor-node",
      );
    }
  });
});
