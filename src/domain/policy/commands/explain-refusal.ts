import { en } from "../../texts/commands/en.ts";
import { ja } from "../../texts/commands/ja.ts";
import type { CommandMessages } from "../../texts/commands/messages.ts";
import type { Locale } from "../../texts/messages.ts";
import type { Refusal } from "./rule.ts";

const CATALOGUES: Readonly<Record<Locale, CommandMessages>> = { ja, en };
const SHOWN = 200;

/** Which rule, why, and what to do instead: for the model that proposed the command and for people. */
export function explainRefusal(refusal: Refusal, locale: Locale): string {
  const messages = CATALOGUES[locale];
  const facts = { name: refusal.name ?? "", detail: refusal.detail ?? "" };
  const text = messages.rule(refusal.rule, facts);
  const [line = "", ...more] = refusal.command.trim().split("\n");
  const shown =
    [...line].length > SHOWN || more.length > 0 ? `${[...line].slice(0, SHOWN).join("")} …` : line;
  return messages.refused({ rule: refusal.rule, command: shown, text });
}
