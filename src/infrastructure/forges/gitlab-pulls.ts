import { Commits, MergeRequestDiscussions, MergeRequests } from "@gitbeaker/rest";
import { type PullText, postedComment, postedPull } from "../../domain/forges/posted.ts";
import { answer } from "./forge-fault.ts";
import type { ForgePulls } from "./forge-slices.ts";
import { type GitLabApi, PAGES } from "./gitlab-api.ts";
import { checks, commentOf, type Note } from "./gitlab-shapes.ts";

/** Merge requests, their reviews and their checks. */
export function createGitLabPulls({ options, edit, toPull }: GitLabApi): ForgePulls {
  return {
    listReviewComments: (item, signal) =>
      answer(async () => {
        const discussions = await new MergeRequestDiscussions(options(signal)).all(
          item.repository,
          item.number,
          PAGES,
        );
        const notes = discussions.flatMap(({ id, notes }) =>
          ((notes ?? []) as unknown as Note[]).map((note) => ({ thread: id, note })),
        );
        return notes.flatMap(({ thread, note }) => {
          const { position } = note;
          if (position === undefined || position === null || note.system) return [];
          const line = position.new_line ?? position.old_line ?? null;
          const path = position.new_path ?? position.old_path ?? "";
          return [{ ...commentOf(note), path, line, lineNow: position.new_line ?? null, thread }];
        });
      }),
    replyTo: (item, thread, comment, signal) =>
      answer(async () => {
        const discussions = new MergeRequestDiscussions(options(signal));
        const body = postedComment("gitlab", comment);
        await discussions.addNote(item.repository, item.number, thread, body);
      }),
    findPull: (repository, head, signal) =>
      answer(async () => {
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
      answer(async () => {
        const { title, description } = words(text);
        const made = await new MergeRequests(options(signal)).create(repository, head, base, title, {
          description,
        });
        return toPull(repository, made as unknown as { iid: number });
      }),
    updatePull: (pull, text, signal) =>
      answer(async () => {
        await edit(pull, words(text), signal);
        return toPull(pull.repository, { iid: pull.number });
      }),
    checksOf: (repository, commit, signal) =>
      answer(async () => {
        const all = await new Commits(options(signal)).allStatuses(repository, commit);
        return checks((all as unknown as { status: string }[]).map(({ status }) => status));
      }),
  };
}

/** On GitLab the title makes the draft. */
function words(text: PullText): { readonly title: string; readonly description: string } {
  const { title, body } = postedPull("gitlab", text);
  return { title: text.draft ? `Draft: ${title}` : title, description: body };
}
