import { wordJobBriefly, wordRefusal } from "../../../application/jobs/job-report.ts";
import { parsePatch } from "../../../domain/patch/parse-patch.ts";
import { playgroundPage } from "./playground.ts";
import { PATCH_EXAMPLES } from "./patch-examples.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";

/** Patches to try out. */
export function playgroundRoutes(app: WebApp, { host, flashes }: Web): void {
  const { viewerJobs } = host;
  app.get("/playground", (c) => {
    const { page } = c.var;
    if (page.viewer.role !== "operator")
      return respond(troublePage(page, page.t.forbiddenTitle, page.t.operatorsOnly), 403);
    const name = c.req.query("example") ?? "";
    const patch = Object.hasOwn(PATCH_EXAMPLES, name)
      ? PATCH_EXAMPLES[name as keyof typeof PATCH_EXAMPLES]
      : "";
    return respond(
      playgroundPage(page, { patch, parsed: patch === "" ? null : parsePatch(patch), atomic: false }),
    );
  });
  app.post("/playground", async (c) => {
    const { page, form } = c.var;
    if (page.viewer.role !== "operator")
      return respond(troublePage(page, page.t.forbiddenTitle, page.t.operatorsOnly), 403);
    // Browsers send CRLF; the patch was typed with line feeds.
    const patch = (form.get("patch") ?? "").replaceAll("\r\n", "\n");
    const atomic = form.get("atomic") === "1";
    const verb = form.get("do");
    const parsed = parsePatch(patch);
    if (verb !== "preview" && verb !== "apply")
      return respond(playgroundPage(page, { patch, parsed, atomic }));
    const again = (text: string) =>
      respond(playgroundPage(page, { patch, parsed, atomic, notice: { ok: false, text } }), 422);
    if (!parsed.ok) return respond(playgroundPage(page, { patch, parsed, atomic }), 422);
    if (parsed.commands.length === 0) return again(page.t.emptyPatch);
    const facts = await viewerJobs.run(page.viewer, { patch, mode: verb, atomic, source: "web" });
    if (facts.about === "refusal") return again(wordRefusal(page.words, facts));
    const flash = flashes.keep({ ok: facts.success, text: wordJobBriefly(page.words, facts) });
    return c.redirect(`/jobs/${facts.jobId}?${flash}`, 303);
  });
}
