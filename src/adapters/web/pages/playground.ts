import { giveWay } from "../../../application/platform/give-way.ts";
import { parsePatch, refuseLongPatch } from "../../../domain/patch/parse-patch.ts";
import type { ParseResult, PatchCommand } from "../../../domain/patch/patch-command.ts";
import { wordJobBriefly, wordRefusal } from "../../../domain/texts/jobs-report.ts";
/** One small patch in each of the five formats; they belong together and work in an empty folder, in this order. */
import patchExamples from "../assets/patch-examples.json" with { type: "json" };
import { commandLine } from "../job-view.ts";
import { noticeBox, page } from "../layout.ts";
import { csrfField, html, ICONS, type Markup, visible } from "../markup.ts";
import type { Notice, PageContext } from "../page-context.ts";
import { type ConsolePages, respond, type Web, type WebApp } from "../web.ts";

interface PlaygroundView {
  readonly patch: string;
  readonly parsed: ParseResult | null;
  readonly atomic: boolean;
  readonly notice?: Notice;
}

async function playgroundPage(context: PageContext, view: PlaygroundView): Promise<Markup> {
  const { t } = context;
  const parsed = view.parsed !== null && (await parsedOf(context, view.parsed));
  return page(context, {
    title: t.playgroundTitle,
    section: "/playground",
    body: html`<h1>${t.playgroundTitle}</h1><p class="lead">${t.playgroundIntro}</p>
<p class="examples-line"><span>${t.examples}:</span> ${Object.keys(patchExamples).map((name) => html`<a class="chip" href="/playground?example=${name}">${name}</a> `)}</p>
<form method="post" action="/playground" class="playground">${csrfField(context)}
<label for="patch">${t.patchLabel}</label>
<textarea id="patch" name="patch" rows="16" spellcheck="false" class="mono" placeholder="${t.patchPlaceholder}">${`\n${view.patch}`}</textarea>
<div class="actions"><button type="submit" name="do" value="parse">${t.parse}</button><button type="submit" name="do" value="preview">${t.preview}</button><button type="submit" name="do" value="apply" class="main">${t.apply}</button>
<label class="check"><input type="checkbox" name="atomic" value="1" ${view.atomic && html`checked`}> ${t.atomic}</label></div></form>
${noticeBox(view.notice)}
${parsed}`,
  });
}

async function parsedOf({ t }: PageContext, parsed: ParseResult): Promise<Markup> {
  if (!parsed.ok) {
    const { message, line } = parsed.failure;
    return html`<section class="notice bad" role="status"><h2>${t.notAPatch}</h2><p><code>${visible(message)}</code>${line !== undefined && ` (${t.atLine(line)})`}</p></section>`;
  }
  return html`<section aria-labelledby="parsed"><h2 id="parsed" role="status">${t.parsedAs(t.formats[parsed.format] ?? parsed.format, parsed.commands.length)}</h2>
${parsed.warnings.map((warning) => html`<p class="note">${visible(warning)}</p>`)}
${parsed.commands.length === 0 && html`<p class="note">${t.emptyPatch}</p>`}
<ol class="commands">${await listCommands(t, parsed.commands)}</ol></section>`;
}

const LISTED_IN_ONE_GO = 500;

async function listCommands(t: PageContext["t"], commands: readonly PatchCommand[]): Promise<Markup[]> {
  const listed: Markup[] = [];
  for (const command of commands) {
    listed.push(
      html`<li>${commandLine(t, command)}${command.content !== "" && html`<pre class="code" tabindex="0">${visible(command.content)}</pre>`}${command.content === "" && command.target.includes("\n") && html`<pre class="code" tabindex="0">${visible(command.target)}</pre>`}</li>`,
    );
    if (listed.length % LISTED_IN_ONE_GO === 0) await giveWay();
  }
  return listed;
}

function parseServed(patch: string): ParseResult {
  const failure = refuseLongPatch(patch);
  return failure === null ? parsePatch(patch) : { ok: false, failure };
}

function playgroundRoutes(app: WebApp, { host, flashes }: Web): void {
  const { viewerJobs } = host;
  app.get("/playground", async (c) => {
    const { page } = c.var;
    const name = c.req.query("example") ?? "";
    const patch = Object.hasOwn(patchExamples, name) ? patchExamples[name as keyof typeof patchExamples] : "";
    return respond(
      await playgroundPage(page, { patch, parsed: patch === "" ? null : parsePatch(patch), atomic: false }),
    );
  });
  app.post("/playground", async (c) => {
    const { page, form } = c.var;
    // Browsers send CRLF; the patch was typed with line feeds.
    const sent = (form.get("patch") ?? "").replaceAll("\r\n", "\n");
    const atomic = form.get("atomic") === "1";
    const verb = form.get("do");
    const parsed = parseServed(sent);
    // Rendering megabytes would block other requests too, and a part would not be the typed text.
    const patch = !parsed.ok && parsed.failure.code === "too-large" ? "" : sent;
    if (verb !== "preview" && verb !== "apply")
      return respond(await playgroundPage(page, { patch, parsed, atomic }));
    const again = async (text: string) =>
      respond(await playgroundPage(page, { patch, parsed, atomic, notice: { ok: false, text } }), 422);
    if (!parsed.ok) return respond(await playgroundPage(page, { patch, parsed, atomic }), 422);
    if (parsed.commands.length === 0) return again(page.t.emptyPatch);
    const facts = await viewerJobs.run(page.viewer, { patch, parsed, mode: verb, atomic, source: "web" });
    if (facts.about === "refusal") return again(wordRefusal(page.words, facts));
    const flash = flashes.keep({ ok: facts.success, text: wordJobBriefly(page.words, facts) });
    return c.redirect(`/jobs/${facts.jobId}?${flash}`, 303);
  });
}

export const playgroundPages: ConsolePages = {
  section: {
    address: "/playground",
    icon: ICONS.playground,
    label: (t) => t.nav.playground,
    operatorsOnly: true,
    first: true,
  },
  routes: playgroundRoutes,
};
