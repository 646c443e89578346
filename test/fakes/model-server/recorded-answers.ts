import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ScriptedReply } from "./reply.ts";

/** Recorded answers of a model, a file an answer: plain text, and a tool call as a line `@@call NAME {json}`. */
export function readRecordedAnswers(folder: string): ScriptedReply[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const lines = readFileSync(join(folder, name), "utf8").split("\n");
      const calls = lines.flatMap((line) => {
        const call = /^@@call (\S+) (.*)$/.exec(line);
        return call === null ? [] : [{ name: call[1] ?? "", arguments: JSON.parse(call[2] ?? "{}") }];
      });
      const text = lines.filter((line) => !line.startsWith("@@call ")).join("\n");
      return { text, ...(calls.length > 0 && { toolCalls: calls }) };
    });
}
