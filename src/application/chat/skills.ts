import { oneLine } from "../../domain/jobs/format-results.ts";
import type { OwnCommands } from "../ports/own-commands.ts";
import type { SearchedFiles } from "../coder/search-project.ts";

/** Skills that a coder may ask for by what they say of themselves. */
export interface Skills {
  /** What a coder is told of them before a request; empty where there are none that it does not have already. */
  offer(request: string): string;
  /** The same files, and each skill as one more that can be read. */
  beside<Files extends Pick<SearchedFiles, "read">>(files: Files): Files;
}

const PREFIX = "skill:";
const MOST_OFFERED = 40;
const OFFER =
  "Skills, instructions that the user wrote. Where one fits the request, read it before you write, as you would a file of this path:";

export function createSkills(own: Pick<OwnCommands, "list" | "find">): Skills {
  return {
    offer(request) {
      const lines = own
        .list()
        .filter(({ kind, description }) => kind === "skill" && description !== "")
        // One that was called by its name stands in the request.
        .filter(({ name }) => !request.includes(`# Skill: ${name}\n`))
        .slice(0, MOST_OFFERED)
        .map(({ name, description }) => `${PREFIX}${name}: ${oneLine(description)}`);
      return lines.length === 0 ? "" : [OFFER, ...lines].join("\n");
    },
    beside: (files) => ({
      ...files,
      read(path, limitChars) {
        if (!path.startsWith(PREFIX)) return files.read(path, limitChars);
        const skill = own.find(path.slice(PREFIX.length));
        if (skill === null || skill === "untrusted" || skill.kind !== "skill") return null;
        return { text: skill.body.slice(0, limitChars), cut: skill.body.length > limitChars };
      },
    }),
  };
}
