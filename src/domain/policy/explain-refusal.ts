import type { Locale } from "../texts/messages.ts";
import { commandMessages } from "../texts/texts.ts";
import type { Refusal } from "./rules/command-rule.ts";

const SHOWN = 200;

/** Which rule, why, and what to do instead: for the model that proposed the command and for people. */
export function explainRefusal(refusal: Refusal, locale: Locale): string {
  const messages = commandMessages(locale);
  const facts = { name: refusal.name ?? "", detail: refusal.detail ?? "" };
  const text = messages.rule(refusal.rule, facts);
  const [line = "", ...more] = refusal.command.trim().split("\n");
  const shown =
    [...line].length > SHOWN || more.length > 0 ? `${[...line].slice(0, SHOWN).join("")} …` : line;
  return messages.refused({ rule: refusal.rule, command: shown, text });
}
