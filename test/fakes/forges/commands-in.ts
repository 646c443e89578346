import fc from "fast-check";
import type { ForgeKind } from "../../../src/domain/config/configured-kinds.ts";

/** As GitLab ships it, `issue_closing_pattern`, with the references it knows. */
const GITLAB_CLOSING =
  /(?<![A-Za-z0-9])(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?[ \n*_\\[]+(?:issues? +)?(?:(?:[\w./-]*#\d+)|https?:\/\/\S+|\[issue:\d|[A-Z][A-Z0-9_]+-\d+)/gi;
/** As GitHub documents its keywords; Markdown may stand around them. */
const GITHUB_CLOSING =
  /(?<![A-Za-z0-9])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[\s*_\\[]+(?:(?:[\w.-]+\/[\w.-]+)?#\d+|GH-\d+|https?:\/\/\S+)/gi;
const MENTION = /(?<![A-Za-z0-9])@[A-Za-z0-9_][\w-]*/g;
const QUICK_ACTION = /^[ \t]*\/[a-z_]+/gim;
const TAG = /<(?:[a-z/!?])[^>]*/gi;

/** The actions that a forge would take because of a text: read literally, and as its Markdown decodes it. */
export function commandsIn(forge: ForgeKind, text: string): string[] {
  const closing = forge === "gitlab" ? GITLAB_CLOSING : GITHUB_CLOSING;
  const readings = [text, decoded(text)].flatMap((one) => [
    one,
    one.replace(/[\r\u2028\u2029\v\f\u0085]/g, "\n"),
  ]);
  const found = readings.flatMap((one) =>
    [closing, MENTION, QUICK_ACTION, TAG].flatMap((pattern) =>
      [...one.matchAll(pattern)].map(([hit]) => hit),
    ),
  );
  return [...new Set(found)];
}

function decoded(text: string): string {
  const named: Readonly<Record<string, string>> = {
    commat: "@",
    num: "#",
    sol: "/",
    colon: ":",
    lowbar: "_",
  };
  return text
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Math.min(Number(code), 0xffff)))
    .replace(/&#x([0-9a-f]+);/gi, (_, code: string) =>
      String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xffff)),
    )
    .replace(/&(\w+);/g, (whole, name: string) => named[name] ?? whole)
    .replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

const PIECES = [
  "/merge",
  "/approve",
  "/invite_email",
  "@alice",
  "@all",
  "@",
  "closes",
  "Closes",
  "closing",
  "Implements",
  "fix",
  "fixed:",
  "resolves",
  " ",
  "  ",
  "\n",
  "\r",
  "\u2028",
  "#7",
  "#",
  "7",
  "acme/calc#7",
  "GH-7",
  "KEY-7",
  "https://github.com/acme/calc/issues/7",
  "issue ",
  "[issue:7]",
  "`",
  "```",
  "~~~",
  "*",
  "_",
  "\\",
  ">",
  "- ",
  "<!--",
  "-->",
  "<b>",
  "<details>",
  "&#64;",
  "&commat;",
  "&num;",
  "&#35;",
  "&amp;",
  "\u200b",
  "x",
  "日本",
  ":",
  "(",
  "Draft: ",
];

/** Texts that are made of what forges listen to. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: fc.string() }),
    {
      maxLength: 14,
    },
  )
  .map((pieces) => pieces.join(""));
