import type { FleetView, Machine } from "../../../application/ports/fleet.ts";
import type { DeadWork } from "../../../application/ports/serve.ts";
import { distinctMachineName } from "../../../domain/fleet/machine-label.ts";
import { type FleetMessages, fleetMessagesFor } from "../../../domain/texts/fleet.ts";
import { noticeBox, page } from "../layout.ts";
import { actionButton, html, ICONS, type Markup, moment, visible } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, missingPage, respond, type Web, type WebApp } from "../web.ts";

const FLEET = "/fleet";
const REFRESH_SECONDS = 5;

function fleetPage(context: PageContext, { self, machines, queues, dead }: FleetView): Markup {
  const t = fleetMessagesFor(context.t.locale);
  const nameOf = new Map(machines.map((machine) => [machine.id, distinctMachineName(machine, machines)]));
  return page(context, {
    title: context.t.nav.fleet,
    section: FLEET,
    refreshSeconds: REFRESH_SECONDS,
    body: html`<h1>${context.t.nav.fleet}</h1><p class="lead">${t.intro}</p>
${noticeBox(context.notice)}
<h2>${t.machines}</h2>
${machines.length === 0 ? html`<p class="note">${t.noMachines}</p>` : html`<ul class="checks">${machines.map((machine) => machineItem(context, t, { ...machine, name: distinctMachineName(machine, machines) }, self))}</ul>`}
<h2>${t.queues}</h2>
${
  queues.length === 0
    ? html`<p class="note">${t.nothingWaits}</p>`
    : html`<ul class="rows">${queues.map(({ machineId, root, waiting, working, replies }) => html`<li><div class="row"><span class="title"><code>${visible(root)}</code></span><span class="meta">${machineId !== null && html`${visible(nameOf.get(machineId) ?? machineId)} · `}${t.depth(waiting, working, replies)}</span></div></li>`)}</ul>`
}
<h2>${t.dead}</h2>
${dead.length === 0 ? html`<p class="note">${t.nothingDead}</p>` : html`<ul class="rows">${dead.map((work) => deadItem(context, t, work))}</ul>`}`,
  });
}

function machineItem(context: PageContext, t: FleetMessages, machine: Machine, self: string): Markup {
  const { name, id, here, seenAt, processes } = machine;
  return html`<li class="${here ? "good" : "bad"}"><strong title="${id}">${visible(name)}</strong><span>${here ? (id === self ? t.thisMachine : t.alive) : html`${t.away("")} ${moment(context, seenAt.toISOString())}`}</span>${processes.map(
    ({ kind, root, labels, lanes, busy, version, draining }) =>
      html`<span class="remedy">${kind} · <code>${visible(root)}</code> · ${visible(labels.join(", "))} · ${t.busy(busy, lanes)} · ${version}${draining && html` · ${t.draining}`}</span>`,
  )}</li>`;
}

function deadItem(
  context: PageContext,
  t: FleetMessages,
  { id, ref, attempt, reason, at }: DeadWork,
): Markup {
  const fields = { id };
  return html`<li><div class="row"><span class="title" title="${ref}">${visible(reason)}</span><span class="meta">${t.attempts(attempt)} · ${moment(context, at.toISOString())}</span></div>
${actionButton(context, { action: "/fleet/retry", label: t.retry, fields })}${actionButton(context, { action: "/fleet/discard", label: context.t.discard, style: "danger", fields })}</li>`;
}

function fleetRoutes(app: WebApp, { host, flashes }: Web): void {
  app.get("/fleet", async (c) => respond(fleetPage(c.var.page, await host.fleet.view())));
  app.post("/fleet/:verb", async (c) => {
    const verb = c.req.param("verb");
    const { page, form } = c.var;
    if (verb !== "retry" && verb !== "discard") return missingPage(page);
    const t = fleetMessagesFor(page.t.locale);
    const id = form.get("id") ?? "";
    const { reason = id } = (await host.fleet.view()).dead.find((work) => work.id === id) ?? {};
    const ok = await host.fleet[verb](id);
    const text = ok ? (verb === "retry" ? t.retried(reason) : t.discarded(reason)) : t.unknownWork(id);
    return c.redirect(`/fleet?${flashes.keep({ ok, text })}`, 303);
  });
}

export const fleetPages: ConsolePages = {
  section: { address: FLEET, icon: ICONS.fleet, label: (t) => t.nav.fleet, operatorsOnly: true },
  routes: fleetRoutes,
};
