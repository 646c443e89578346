import type { JobEvent, JournalLine } from "../../application/ports/journal.ts";
import { validatedJournal } from "../../application/jobs/judged-journal.ts";
import { wordEviction } from "../../application/jobs/job-report.ts";
import { wordNote } from "../../application/jobs/word-notes.ts";
import type { PatchCommand } from "../../domain/patch/command.ts";
import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import type { PageContext } from "./context.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { duration, moment } from "./times.ts";
import { visible } from "./visible.ts";

/** A job told from its journal, event by event. */
export function timeline(context: PageContext, journal: readonly JournalLine[]): Markup {
  const lines = validatedJournal(journal);
  let attempt = 0;
  return html`<ol class="timeline">${lines.map(({ at, event }) => {
    const entry = toTimelineEntry(context, event);
    // Where a coder tried more than once, each try has a head.
    const next = "attempt" in event && (event.attempt ?? 0) > attempt ? (event.attempt as number) : 0;
    attempt = next || attempt;
    const isHead =
      next > 1 || (next === 1 && lines.some(({ event: one }) => "attempt" in one && one.attempt === 2));
    return (
      entry !== null &&
      html`${isHead && html`<li class="head"><strong>${context.t.attemptNumber(next)}</strong></li>`}<li class="${entry.tone}"><div class="what">${entry.what}</div>${moment(context, at)}</li>`
    );
  })}</ol>`;
}

interface TimelineEntry {
  readonly tone: "plain" | "good" | "bad" | "command";
  readonly what: Piece;
}

function toTimelineEntry({ t, words: messages }: PageContext, event: JobEvent): TimelineEntry | null {
  const words = t.timeline;
  switch (event.type) {
    case "job_started":
      return { tone: "plain", what: words.started(event.kind) };
    case "command_started":
      return { tone: "command", what: commandLine(t, event.command) };
    case "command_finished":
      return {
        tone: event.success ? "good" : "bad",
        what: html`<span>${event.success ? "✓" : "✗"} ${duration(event.duration)}</span>
${event.error !== "" && html`<p class="error">${visible(event.error)}</p>`}
${event.notes.map((note) => html`<p class="note">${visible(wordNote(messages, note))}</p>`)}
${event.output.trim() !== "" && html`<details ${event.output.length < 600 && html`open`}><summary>${words.output}</summary><pre class="output" tabindex="0">${visible(event.output.trimEnd())}</pre></details>`}`,
      };
    // Told at its command.
    case "command_judged":
      return null;
    case "check_finished":
      return {
        tone: event.exit_code === 0 ? "good" : "bad",
        what: html`<span>${event.exit_code === 0 ? "✓" : "✗"} ${words.check(event.over)} <code>${visible(event.command)}</code> ${duration(event.duration)}</span>
${event.output.trim() !== "" && html`<details><summary>${words.output}</summary><pre class="output" tabindex="0">${visible(event.output.trimEnd())}</pre></details>`}`,
      };
    case "auto_commit":
      return {
        tone: event.error === undefined ? "plain" : "bad",
        what: [
          words.autoCommit(event.moment, event.commit),
          event.error !== undefined && ` ${visible(event.error)}`,
        ],
      };
    case "staged":
      return { tone: "plain", what: words.staged(event.changes) };
    case "committed":
      return { tone: "good", what: words.committed(event.changes) };
    case "conflict":
      return {
        tone: "bad",
        what: [words.conflict, html`<p class="paths">${event.paths.map(visible).join(", ")}</p>`],
      };
    case "rolled_back":
      return { tone: "bad", what: words.rolledBack(visible(event.reason)) };
    case "undone":
      return { tone: "plain", what: words.undone(event.changes) };
    case "redone":
      return { tone: "good", what: words.redone(event.changes) };
    case "evicted":
      return { tone: "plain", what: words.evicted };
    case "quota_evicted": {
      const evicted = event.jobs.map(({ job_id: jobId, bytes }) => ({ jobId, bytes }));
      const text = wordEviction(messages, { evicted, quotaBytes: event.quota_bytes });
      return { tone: "plain", what: visible(text) };
    }
    case "note":
      return { tone: "plain", what: visible(event.text) };
  }
}

export function commandLine(t: ConsoleMessages, command: PatchCommand): Markup {
  const kind = t.commandKinds[command.type as keyof typeof t.commandKinds] ?? command.type;
  return html`<span class="chip">${kind}</span> <span class="verb">${command.action}</span> <code>${visible(command.target).split("\n")[0]}</code>`;
}
