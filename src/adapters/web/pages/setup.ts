import type { OpenedSetUp } from "../../../application/ports/setup.ts";
import {
  type ChoiceTrial,
  describeFound,
  describeNothing,
  describeTest,
  findOfferedModel,
  modelNameOf,
} from "../../../application/setup/setup-steps.ts";
import {
  type ChosenModel,
  type ModelChoice,
  offeredFor,
  recommendedChoice,
} from "../../../domain/setup/first-config.ts";
import { listProblems } from "../../../domain/texts/config-problem.ts";
import { messagesFor } from "../../../domain/texts/jobs.ts";
import { type SetupMessages, setupMessagesFor } from "../../../domain/texts/setup.ts";
import { formField, formSelect, page } from "../layout.ts";
import { actionButton, csrfField, html, type Markup, visible } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, respond, troublePage, type Web, type WebApp } from "../web.ts";

type OpenSetUp = Extract<OpenedSetUp, { ok: true }>;

const LOOK_S = 2;

function setupPage(context: PageContext, opened: OpenSetUp, trial: ChoiceTrial): Markup {
  const words = setupMessagesFor(context.t.locale);
  const trying = trial.kind === "trying";
  return page(context, {
    title: words.page.title,
    section: null,
    ...(trying && { refreshSeconds: LOOK_S }),
    body: html`<h1>${words.page.title}</h1><p class="lead">${words.page.lead}</p>
<div id="setup" data-part>
${trial.kind === "written" ? writtenView(context, words, trial) : [foundList(context, words, opened), chooseForm(context, words, opened, trial)]}
</div>`,
  });
}

function foundList(context: PageContext, words: SetupMessages, opened: OpenSetUp): Markup {
  const [title, ...lines] = describeFound(opened.found, words);
  return html`<section aria-labelledby="found"><h2 id="found">${title}</h2>
<ul class="checks">${lines.map((line) => html`<li class="plain ${line.startsWith("✓") ? "good" : "off"}"><span>${visible(line.slice(2))}</span></li>`)}</ul>
${actionButton(context, { action: "/setup/look", label: words.page.lookAgain })}</section>`;
}

function chooseForm(
  context: PageContext,
  words: SetupMessages,
  opened: OpenSetUp,
  trial: ChoiceTrial,
): Markup {
  const [talkers, coders] = [offeredFor(opened.found, "talk"), offeredFor(opened.found, "code")];
  if (talkers.length + coders.length === 0)
    return html`<section><div class="notice bad">${describeNothing(opened.found, null, words).map((line) => html`<p>${line.trim()}</p>`)}</div>${skip(context, words)}</section>`;
  const chosen =
    trial.kind === "silent" || trial.kind === "trying" ? trial.choice : recommendedChoice(opened.found);
  const options = (offered: readonly ChosenModel[]) => ({
    "": words.page.noModel,
    ...Object.fromEntries(
      offered.map((one) => [
        modelNameOf(one),
        words.modelWith(modelNameOf(one), one.local ? [] : [words.inTheCloud]),
      ]),
    ),
  });
  const named = (one: ChosenModel | null) => (one === null ? "" : modelNameOf(one));
  return html`<section aria-labelledby="choose"><h2 id="choose">${words.page.choose}</h2>
${trialOutcome(words, trial)}
<form method="post" action="/setup" class="setup-form">${csrfField(context)}
${formField(words.whoTalks, formSelect("chat", options(talkers), named(chosen.chat)))}
${talkers.some(({ local }) => !local) && privacy(words, chosen)}
${formField(words.whoCodes, formSelect("coder", options(coders), named(chosen.coder)))}
<p class="actions"><button type="submit" class="main" ${trial.kind === "trying" && html`disabled`}>${words.page.tryAndSave}</button></p></form>
${skip(context, words)}</section>`;
}

function privacy(words: SetupMessages, { cloudMayTalk }: ModelChoice): Markup {
  return html`<fieldset><legend>${words.page.askCloud}</legend>
<label class="check"><input type="radio" name="cloud" value="0" ${!cloudMayTalk && html`checked`}> ${words.page.keep}</label>
<label class="check"><input type="radio" name="cloud" value="1" ${cloudMayTalk && html`checked`}> ${words.page.allow}</label></fieldset>`;
}

function trialOutcome(words: SetupMessages, trial: ChoiceTrial): Markup {
  switch (trial.kind) {
    case "trying":
      return html`<p class="notice" role="status" data-every="${LOOK_S}">${words.testing.trim()}</p>`;
    case "silent":
      return html`<div class="notice bad" role="status">${describeTest(trial.choice, trial.tested, words).map((line) => html`<p>${visible(line)}</p>`)}<p>${words.page.nothingWritten}</p></div>`;
    case "refused":
      return html`<div class="notice bad" role="status"><p>${visible(trial.why)}</p></div>`;
    default:
      return html``;
  }
}

function writtenView(
  context: PageContext,
  words: SetupMessages,
  trial: Extract<ChoiceTrial, { kind: "written" }>,
): Markup {
  const { choice, tested, file } = trial;
  const first = choice.chat === null ? words.firstChange : words.hello;
  const chat = `/chat/${encodeURIComponent(context.viewer.userId)}?draft=${encodeURIComponent(first)}`;
  return html`<div class="notice good" role="status">${describeTest(choice, tested, words).map((line) => html`<p>${visible(line)}</p>`)}<p>${words.written(file)}</p>${choice.chat === null && html`<p>${words.nobodyTalks}</p>`}</div>
<p class="actions"><a class="button main" href="${chat}">${words.page.begin}</a> <a href="/manage/settings">${words.page.more}</a></p>`;
}

function skip({ viewer }: PageContext, words: SetupMessages): Markup {
  return html`<p><a href="/chat/${encodeURIComponent(viewer.userId)}">${words.page.skip}</a></p>`;
}

/** While nothing is configured, an operator's first page is how to change that. */
function setupRoutes(app: WebApp, { host }: Web): void {
  const { setUp } = host;
  app.get("/chat", async (c, next) => {
    const first = c.var.page.viewer.role === "operator" && (await setUp.isNeeded());
    return first ? c.redirect("/setup", 302) : next();
  });
  app.use("/setup", async (c, next) => {
    const { page } = c.var;
    if (page.viewer.role !== "operator")
      return respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);
    // An existing setup is changed elsewhere.
    const over = setUp.steps.trial().kind === "none" && !(await setUp.isNeeded());
    return over ? c.redirect("/manage/settings", 302) : next();
  });
  app.get("/setup", async (c) => {
    const opened = await setUp.steps.found();
    if (opened.ok) return respond(setupPage(c.var.page, opened, setUp.steps.trial()));
    const words = messagesFor(c.var.page.t.locale);
    return respond(
      troublePage(c.var.page, words.configInvalid, listProblems(words, opened.problems).join("\n")),
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

export const setupPages: ConsolePages = {
  routes: setupRoutes,
};
