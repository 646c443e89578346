import { REVIEW_ANSWER } from "../../domain/chat/agents.ts";
import type { WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { isOwnersChannel } from "./chat-commands.ts";
import { type ChatBase, type ChatCommand, createAnswer, type ServiceDeps } from "./chat-turn.ts";
import { say } from "./reply-words.ts";

/** A ref, a range or a number, as git and people write them. */
const REVIEWED = /^#?[\p{L}\p{N}][\p{L}\p{N}._/@^~-]*(?:\.{2,3}[\p{L}\p{N}][\p{L}\p{N}._/@^~-]*)?$/u;

const PULL = /^(?:#?\d{1,9}|https?:\/\/\S+)$/;

/** `/review [branch | range | commit | #12] [--post]`: a coder reads a change and changes nothing; a pull request's can be posted. */
export const review: ChatCommand<ServiceDeps> = async (deps, turn, rest) => {
  const isPosted = /(?:^|\s)--post(?=\s|$)/.test(rest);
  const what = rest.replace(/(?:^|\s)--post(?=\s|$)/, " ").trim();
  if (PULL.test(what)) {
    const { reviewPull } = await import("./pull-commands.ts");
    return reviewPull(deps, turn, { name: what, isPosted });
  }
  if (isPosted) return createAnswer([say("reviewPostWhere")], false);
  if (what !== "" && !REVIEWED.test(what)) return createAnswer([say("reviewUsage")], false);
  for (const name of what === "" ? [] : what.split(/\.{2,3}/))
    if ((await deps.isCommit(name)) === false) return createAnswer([say("reviewUnknown", name)], false);
  return {
    ...createAnswer([say("reviewing", what)], true),
    again: {
      route: "CODE",
      text: reviewRequest(what),
      asked: turn.message.text,
      preview: true,
      isNoticeOnly: true,
    },
  };
};

const GIT_MS = 10_000;

/** Whether a branch, a tag or a commit of that name is there; null where git does not say. It runs nothing of the repository's own. */
export async function isCommit(
  { processes, root, hostEnv, random }: Pick<WorkspaceDeps, "processes" | "root" | "hostEnv" | "random">,
  name: string,
): Promise<boolean | null> {
  const { runProcess, killJobProcesses } = await processes();
  const jobMarker = `review-${Buffer.from(random(8)).toString("hex")}`;
  const asked = await runProcess({
    argv: [
      "git",
      ...["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"],
      ...["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`],
    ],
    cwd: root,
    env: { ...hostEnv, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" },
    timeoutMs: GIT_MS,
    outputLimitBytes: 4_096,
    jobMarker,
  });
  // Its bound lasts until then.
  await killJobProcesses(jobMarker);
  if (asked.outcome !== "exited") return null;
  // With any other code git cannot answer: this folder is not a repository, or one of another user's.
  return asked.exitCode === 0 ? true : asked.exitCode === 1 ? false : null;
}

/** The coder runs git itself, in a view that is thrown away. */
function reviewRequest(what: string): string {
  const shown =
    what === ""
      ? "what is not committed yet (`git status --short`, `git diff HEAD`, new files by reading them); if that is empty, the current branch since it left the main branch (`git diff $(git merge-base HEAD main)` or master)"
      : what.includes("..")
        ? `\`git diff ${what}\``
        : `\`${what}\`: if it is a branch, what it adds to the main branch (\`git diff main...${what}\` or master); if it is a commit, \`git show ${what}\``;
  return [
    `Review a change of this project and change nothing: write no patch and no edit, only text. The change is ${shown}.`,
    "Read the change with run, read the code around it, and test what you doubt.",
    REVIEW_ANSWER,
  ].join("\n");
}

/** `/init`: a coder writes the page that coders read first. */
export const init: ChatCommand<ChatBase> = async (_, turn, rest) => ({
  ...createAnswer([], true),
  again: {
    route: "CODE",
    text: [INIT_REQUEST, rest.trim()].filter((part) => part !== "").join("\n\n"),
    asked: turn.message.text,
  },
});

const INIT_REQUEST =
  "Write AGENTS.md at the root of this project, for coding agents that see it for the first time: what the project is, how it is built, tested and linted (the exact commands), where things are, and the conventions that its code follows. Read the project first and write only what its files show, in at most 60 lines. If AGENTS.md or CLAUDE.md already exists, keep what is true, correct what is not, and add what is missing.";

/** `/config` and `/login`: said where it is done, because neither a setting nor a key belongs in a conversation. */
export const config: ChatCommand<ChatBase> = async () => createAnswer([say("configWhere")], true);
export const login: ChatCommand<ChatBase> = async () => createAnswer([say("loginWhere")], true);

/** `/allow`, `/allow HOST[:PORT]`, `/allow remove HOST`: the hosts that commands of a model may reach here. Only the owner may change them. */
export const allow: ChatCommand<ServiceDeps> = async (deps, turn, rest) => {
  const { channel, userId } = turn.message;
  const { modelHosts } = deps;
  if (modelHosts === undefined || !(isOwnersChannel(channel) || (channel === "web" && userId === "operator")))
    return createAnswer([say("allowForOwner")], false);
  const [, removes, entry = ""] = /^\s*(remove\s+)?(\S*)\s*$/.exec(rest) ?? [];
  const hosts = await modelHosts();
  if (entry === "") return createAnswer([say("allowList", hosts.list())], rest.trim() === "");
  if (!hosts.change(entry, removes === undefined)) return createAnswer([say("allowNoHost", entry)], false);
  return createAnswer([say("allowList", hosts.list())], true);
};

/** `/export [html]`: the conversation with its jobs and their differences, as a file of its own. */
export const exportTalk: ChatCommand<ServiceDeps> = async (deps, turn, rest) => {
  const form = rest.trim().toLowerCase() || "md";
  if ((form !== "md" && form !== "html") || deps.exportTalk === undefined)
    return createAnswer([say("exportUsage")], false);
  const path = await deps.exportTalk(turn.sessionKey, form);
  const said = path === null ? say("nothingToExport") : say("exportedTo", path);
  return createAnswer([said], path !== null);
};
