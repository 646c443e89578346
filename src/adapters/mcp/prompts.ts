import type { GetPromptResult, Prompt } from "@modelcontextprotocol/sdk/types.js";
import type { McpHost } from "./host.ts";
import { readResource } from "./resources-and-prompts.ts";

interface PromptEntry {
  readonly prompt: Prompt;
  /** A text is what is wrong with the arguments. */
  fill(
    args: Readonly<Record<string, string>>,
    host: Pick<McpHost, "archive" | "mask">,
  ): Promise<PromptMessages | string>;
}

type PromptMessages = GetPromptResult["messages"];

const JOB = { name: "job_id", description: "A job of this workspace; absent: the last one", required: false };

/** What a person can start from a client's menu. One entry a prompt. */
const PROMPTS: readonly PromptEntry[] = [
  {
    prompt: {
      name: "change_safely",
      title: "Change the project, safely",
      description: "Make a change, have the project's own tests judge it, take it back if they got worse",
      arguments: [{ name: "request", description: "What should be different", required: true }],
    },
    async fill({ request = "" }) {
      if (request.trim() === "") return "request: required";
      return [
        userMessage(
          `${request}\n\nWork with the tools of PicoClaw, whose every write and command is a job that can be taken back exactly. ` +
            "First find out how the project is tested, and run its tests with execute_command. Then make the change with text_editor or apply_patch. " +
            "Run the tests again. If something that passed fails now and you cannot mend it, take your jobs back with undo_job, newest first. " +
            "End with what changed, the tests before and after, and the job ids.",
        ),
      ];
    },
  },
  {
    prompt: {
      name: "review_job",
      title: "Review a job",
      description: "Look over what a job changed",
      arguments: [JOB],
    },
    async fill({ job_id: name }, host) {
      const jobId = name || host.archive.list().at(-1)?.jobId;
      if (jobId === undefined) return "there is no job yet";
      const diff = await readResource(`picoclaw://jobs/${jobId}/diff`, host);
      if (diff === null) return `job_id: no such job: ${jobId.slice(0, 100)}`;
      return [
        userMessage(
          `Review what ${jobId} changed. Name mistakes, what is missing, and what to test, most important first. ` +
            "Change nothing. If it should not stay, say so: undo_job takes it back.",
        ),
        { role: "user", content: { type: "resource", resource: diff } },
      ];
    },
  },
  {
    prompt: {
      name: "take_back",
      title: "Take back a job",
      description: "Undo a job and tell what became of it",
      arguments: [JOB],
    },
    async fill({ job_id: name }) {
      const which = name ? `the job ${name}` : "the last job";
      const rest =
        "Tell which files are as they were before. If there is a conflict, name it and change nothing else.";
      return [userMessage(`Take back ${which} with undo_job. ${rest}`)];
    },
  },
];

export const listPrompts = (): Prompt[] => PROMPTS.map(({ prompt }) => prompt);

/** Null when there is no such prompt; a text is what is wrong with its arguments. */
export async function getPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
  host: Pick<McpHost, "archive" | "mask">,
): Promise<GetPromptResult | string | null> {
  const entry = PROMPTS.find(({ prompt }) => prompt.name === name);
  if (entry === undefined) return null;
  const messages = await entry.fill(args, host);
  return typeof messages === "string" ? messages : { description: entry.prompt.description, messages };
}

function userMessage(text: string): PromptMessages[number] {
  return { role: "user", content: { type: "text", text } };
}
