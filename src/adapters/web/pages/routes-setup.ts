import { findOfferedModel } from "../../../application/setup/setup-steps.ts";
import { messagesFor } from "../../../domain/texts/messages.ts";
import { setupPage } from "./setup.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";

/** While nothing is configured, an operator's first page is how to change that. */
export function setupRoutes(app: WebApp, { host }: Web): void {
  const { setUp } = host;
  app.get("/chat", async (c, next) => {
    const first = c.var.page.viewer.role === "operator" && (await setUp.isNeeded());
    return first ? c.redirect("/setup", 302) : next();
  });
  app.use("/setup", async (c, next) => {
    const { page } = c.var;
    if (page.viewer.role !== "operator")
      return respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);
    // What is set up is changed elsewhere.
    const over = setUp.steps.trial().kind === "none" && !(await setUp.isNeeded());
    return over ? c.redirect("/manage/settings", 302) : next();
  });
  app.get("/setup", async (c) => {
    const opened = await setUp.steps.found();
    if (opened.ok) return respond(setupPage(c.var.page, opened, setUp.steps.trial()));
    const words = messagesFor(c.var.page.t.locale);
    return respond(
      troublePage(c.var.page, words.configInvalid, opened.problems.map(words.configProblem).join("\n")),
    );
  });
  app.post("/setup", async (c) => {
    const opened = await setUp.steps.found();
    if (opened.ok) {
      const cloudMayTalk = c.var.form.get("cloud") === "1";
      const talker = findOfferedModel(opened, "talk", c.var.form.get("chat") ?? "");
      // Small talk leaves the machine by a person's word only.
      const chat = talker?.local === false && !cloudMayTalk ? null : talker;
      const coder = findOfferedModel(opened, "code", c.var.form.get("coder") ?? "");
      if (chat !== null || coder !== null) setUp.steps.begin({ chat, coder, cloudMayTalk });
    }
    return c.redirect("/setup", 303);
  });
  app.post("/setup/look", (c) => {
    if (c.var.page.viewer.role === "operator") setUp.steps.lookAgain();
    return c.redirect("/setup", 303);
  });
}
