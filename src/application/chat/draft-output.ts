import { readSectionLine } from "../../domain/coder/proposal.ts";
import { createWordOutput, type HeldOutput } from "./held-output.ts";

/** A line that may still become a heading, a fence or the beginning of a patch. */
const MAY_BE_MARKUP = /^\s*(?:[#`~{[<]|-{2}|-$|\*{3}|\*{1,2}$|d$|di$|dif$|diff(?: |$)|$)/;

/** From this length on, the beginning of a line is known. */
const LONGEST_MARK = 200;

type Place = "words" | "plan" | "patch" | "other";

/** A coder's answer while it is written: the plan's words, masked, and how long the patch is. Without headings, words end at a fence. */
export function createDraftOutput(
  mask: (text: string) => string,
  pass: (words: string, lines: number) => void,
): HeldOutput {
  let place: Place = "words";
  /** The line so far, looked at when it ends, and what of it is still to be passed on. */
  let line = "";
  let waiting = "";
  let kind: "unknown" | "words" | "markup" = "unknown";
  let isFenced = false;
  let lines = 0;
  const words = createWordOutput(mask, (text) => pass(text, lines));

  /** Passes words on as they arrive; a line that may become a heading or a fence waits for its end. */
  function passOpenLine(): void {
    if (place === "patch" || place === "other" || kind === "markup") return;
    if (kind === "unknown" && MAY_BE_MARKUP.test(waiting)) {
      if (waiting.length > LONGEST_MARK) kind = "markup";
      return;
    }
    if (waiting !== "") kind = "words";
    words.add(waiting);
    waiting = "";
  }

  function endLine(): void {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    const section = isFenced ? undefined : readSectionLine(line);
    if (section !== undefined) {
      words.end();
      place = section === "plan" || section === "patch" ? section : "other";
    } else if (place === "words" && isBeginOfPatch(line)) place = "patch";
    if (section === undefined && place === "patch") {
      lines += 1;
      pass("", lines);
    } else if (section === undefined && place !== "other") words.add(`${waiting}\n`);
    if (isFence) isFenced = !isFenced;
    [line, waiting, kind] = ["", "", "unknown"];
  }

  return {
    add(text) {
      const [first = "", ...rest] = text.split("\n");
      line += first;
      waiting += first;
      for (const next of rest) {
        endLine();
        [line, waiting] = [next, next];
      }
      passOpenLine();
    },
    end() {
      if (line !== "") endLine();
      words.end();
    },
  };
}

function isBeginOfPatch(line: string): boolean {
  return /^\s*(?:```|~~~|diff --git |--- |\*\*\* Begin Patch|<<<<<<< |[[{]\s*$|[[{]")/.test(line);
}
