import { Commits, MergeRequestDiscussions, MergeRequests } from "@gitbeaker/rest";
import { type PullText, postedComment, postedPull } from "../../domain/forges/posted-text.ts";
import { answerForge } from "./forge-fault.ts";
import type { ForgePulls } from "./forge-slices.ts";
import { type GitLabApi, PAGE_LIMITS } from "./gitlab-api.ts";
import { type Note, toChecks, toForgeComment } from "./gitlab-shapes.ts";

/** Merge requests, their reviews and their checks. */
export function createGitLabPulls({ options, edit, toPull }: GitLabApi): ForgePulls {
  return {
    listReviewComments: (item, signal) =>
      answerForge(async () => {
        const discussions = await new MergeRequestDiscussions(options(signal)).all(
          item.repository,
          item.number,
          PAGE_LIMITS,
        );
        const notes = discussions.flatMap(({ id, notes }) =>
          ((notes ?? []) as unknown as Note[]).map((note) => ({ thread: id, note })),
        );
        return notes.flatMap(({ thread, note }) => {
          const { position } = note;
          if (position === undefined || position === null || note.system) return [];
          const line = position.new_line ?? position.old_line ?? null;
          const path = position.new_path ?? position.old_path ?? "";
          return [{ ...toForgeComment(note), path, line, lineNow: position.new_line ?? null, thread }];
        });
      }),
    replyTo: (item, thread, comment, signal) =>
      answerForge(async () => {
        const discussions = new MergeRequestDiscussions(options(signal));
        const body = postedComment("gitlab", comment);
        await discussions.addNote(item.repository, item.number, thread, body);
      }),
    findPull: (repository, head, signal) =>
      answerForge(async () => {
        const found = await new MergeRequests(options(signal)).all({
          projectId: repository,
          sourceBranch: head,
          state: "opened",
          perPage: 1,
          maxPages: 1,
        });
        return found[0] === undefined ? null : toPull(repository, found[0] as unknown as { iid: number });
      }),
    openPull: ({ repository, head, base, ...text }, signal) =>
      answerForge(async () => {
        const { title, description } = pullFields(text);
        const made = await new MergeRequests(options(signal)).create(repository, head, base, title, {
          description,
        });
        return toPull(repository, made as unknown as { iid: number });
      }),
    updatePull: (pull, text, signal) =>
      answerForge(async () => {
        await edit(pull, pullFields(text), signal);
        return toPull(pull.repository, { iid: pull.number });
      }),
    checksOf: (repository, commit, signal) =>
      answerForge(async () => {
        const all = await new Commits(options(signal)).allStatuses(repository, commit);
        return toChecks((all as unknown as { status: string }[]).map(({ status }) => status));
      }),
  };
}

/** On GitLab the title makes the draft. */
function pullFields(text: PullText): { readonly title: string; readonly description: string } {
  const { title, body } = postedPull("gitlab", text);
  return { title: text.draft ? `Draft: ${title}` : title, description: body };
}
