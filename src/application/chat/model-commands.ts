import type { Config } from "../../config/config.ts";
import { agentOf, describeMeasured } from "../../domain/chat/agents.ts";
import { type Catalogue, findInCatalogue } from "../../domain/models/catalogue.ts";
import { familyOf } from "../../domain/models/model-facts.ts";
import { type MemoryMessages, type ModelFactsLine, memoryMessagesFor } from "../../domain/texts/chat.ts";
import type { ReplyChoice } from "../ports/chat.ts";
import {
  EFFORTS,
  type Effort,
  isEffort,
  type Model,
  type ModelChoiceOfRole,
  type ModelFailure,
  type ModelRole,
  type Models,
} from "../ports/models.ts";
import type { ChosenModels } from "../ports/models-meter.ts";
import { isOwnersChannel } from "./chat-commands.ts";
import {
  type AgentDeps,
  type Answer,
  answerInEveryLanguage,
  type ChatCommand,
  type ChatTurn,
  type CloudTalk,
  createAnswer,
  type ServiceDeps,
  type StateDeps,
} from "./chat-turn.ts";
import { say } from "./reply-words.ts";
import type { Chat } from "./sessions.ts";

export interface ModelCommandDeps {
  readonly models: Models;
  readonly catalogue: Catalogue;
  /** The providers of the configuration, `ollama` among them; the model is the one that a role without one gets. */
  readonly providers: readonly { readonly name: string; readonly model: string | null }[];
  readonly defaultCoder: ModelRole;
  readonly effortOf: (role: ModelRole, provider: string) => Effort | null;
}

type ModelChange =
  | { readonly ok: true; readonly choice: ModelChoiceOfRole; readonly model: Model }
  /** Null: no provider has such a model. */
  | { readonly ok: false; readonly failure: ModelFailure | null };

const ALL_ROLES: readonly ModelRole[] = ["chat", "worker", "coder1", "coder2", "coder3"];
/** A server that does not state within this time whether it has a model is not waited for. */
const CHECK_MS = 5_000;

/** Every role with the model that answers for it in this chat: for `/model`, and for a picker. */
function listRoleModels(deps: ModelCommandDeps, chosen: ChosenModels): ModelFactsLine[] {
  return ALL_ROLES.flatMap((role): ModelFactsLine[] => {
    const model = deps.models.forRole(role, chosen[role]);
    const agent = agentOf(role);
    const isChosen = chosen[role] !== undefined;
    const isDefault = role === deps.defaultCoder;
    if (!("generate" in model)) return [{ role, agent, isChosen, isDefault, name: null }];
    return [{ role, agent, isChosen, isDefault, ...describeModel(deps, role, model, chosen[role]) }];
  });
}

/** Names that `/model` takes: what providers have by default, and what the table knows of their families. */
function listOfferedModels({ models, catalogue, providers, defaultCoder }: ModelCommandDeps): string[] {
  const usable = providers.filter(({ name, model }) => {
    const asked = models.forRole(defaultCoder, { provider: name, ...(model !== null && { model }) });
    return "generate" in asked;
  });
  const listed = usable.flatMap(({ name, model }) => {
    const family = model === null ? null : familyOf(model);
    const known = Object.keys(catalogue.models).filter(
      (one) => family !== null && family !== "other" && !one.includes("/") && familyOf(one) === family,
    );
    const own = model === null ? [] : [model];
    return [...new Set([...own, ...(name === family ? known : [])])].map((one) => `${name}/${one}`);
  });
  return [...new Set(listed)];
}

/** The models that a role can have, the one that it has now first. */
function modelChoices(
  deps: ModelCommandDeps,
  chosen: ChosenModels,
  role: ModelRole,
  words: MemoryMessages["models"],
): ReplyChoice[] {
  const agent = agentOf(role);
  const now = deps.models.forRole(role, chosen[role]);
  const nowName = "generate" in now ? `${now.provider}/${now.model}` : null;
  const names = [...new Set([...(nowName === null ? [] : [nowName]), ...listOfferedModels(deps)])];
  return [
    ...names.map((name) => {
      const known = findInCatalogue(deps.catalogue, name.slice(name.indexOf("/") + 1));
      const isNow = name === nowName;
      const local = isNow && "generate" in now && now.local;
      const facts = words.facts({ local, context: known?.context ?? null, price: known?.price ?? null });
      return {
        label: name,
        description: [words.forAgent(agent), ...(isNow ? [words.isNow] : []), facts].join(" · "),
        message: `/model ${agent.toLowerCase()} ${name}`,
      };
    }),
    defaultChoice(words, "model", agent),
  ];
}

function defaultChoice(words: MemoryMessages["models"], command: string, agent: string): ReplyChoice {
  return {
    label: "default",
    description: [words.asConfigured, words.forAgent(agent)].join(" · "),
    message: `/${command} ${agent.toLowerCase()} default`,
  };
}

/** Changes the model of a role, as far as the configuration lets it: local-only holds here as everywhere. */
async function chooseModel(
  deps: ModelCommandDeps,
  chosen: ChosenModels,
  role: ModelRole,
  name: string,
): Promise<ModelChange> {
  const found = findProvider(deps, chosen[role], role, name);
  if (found === null) return { ok: false, failure: null };
  const effort = chosen[role]?.effort;
  const choice: ModelChoiceOfRole = { ...found, ...(effort !== undefined && { effort }) };
  const model = deps.models.forRole(role, choice);
  if (!("generate" in model)) return { ok: false, failure: model };
  const check = await model.check(AbortSignal.timeout(CHECK_MS));
  if (!check.ok && (check.failure.code === "unknown-model" || check.failure.code === "unauthorized"))
    return { ok: false, failure: check.failure };
  return { ok: true, choice, model };
}

/** `provider/model`, a provider, or a model: of the provider that has it, of its family's, else of the role's. */
function findProvider(
  { providers, models }: ModelCommandDeps,
  current: ModelChoiceOfRole | undefined,
  role: ModelRole,
  name: string,
): ModelChoiceOfRole | null {
  const slash = name.indexOf("/");
  const prefix = providers.find((one) => slash > 0 && one.name === name.slice(0, slash));
  if (prefix !== undefined && slash < name.length - 1)
    return { provider: prefix.name, model: name.slice(slash + 1) };
  const alone = providers.find((one) => one.name === name);
  if (alone !== undefined) return alone.model === null ? null : { provider: alone.name, model: alone.model };
  const family = familyOf(name);
  const owner = providers.find(({ model }) => model === name) ?? providers.find((one) => one.name === family);
  if (owner !== undefined) return { provider: owner.name, model: name };
  const now = models.forRole(role, current);
  return "generate" in now ? { provider: now.provider, model: name } : null;
}

function describeModel(
  { catalogue, effortOf }: ModelCommandDeps,
  role: ModelRole,
  { provider, model, local }: Model,
  choice: ModelChoiceOfRole | undefined,
) {
  const known = findInCatalogue(catalogue, model);
  return {
    name: `${provider}/${model}`,
    local,
    effort: choice?.effort ?? effortOf(role, provider),
    context: known?.context ?? null,
    price: local ? null : (known?.price ?? null),
    images: known?.images ?? null,
  };
}

const WORDS: Readonly<Record<string, ModelRole>> = {
  ...Object.fromEntries(ALL_ROLES.map((role) => [role, role])),
  ...Object.fromEntries(ALL_ROLES.map((role) => [agentOf(role).toLowerCase(), role])),
};

/** `coder3 name`, `gin name`, or a name alone, which is the default coder's. */
function readRoleAndRest(
  deps: ModelCommandDeps,
  rest: string,
): { readonly role: ModelRole; readonly rest: string } {
  const [first = "", ...others] = rest.trim().split(/\s+/u);
  const role = Object.hasOwn(WORDS, first.toLowerCase()) ? WORDS[first.toLowerCase()] : undefined;
  return role === undefined
    ? { role: deps.defaultCoder, rest: rest.trim() }
    : { role, rest: others.join(" ") };
}

const RESET = /^(?:default|reset|既定|元に戻す)$/iu;

function answerAboutModels(word: (words: MemoryMessages["models"]) => string, ok = true): Answer {
  return answerInEveryLanguage((locale) => word(memoryMessagesFor(locale).models), ok);
}

/** `/model` and `/effort`: who answers in this chat, and how much they think, from the next message on. */
export function modelCommands(deps: ModelCommandDeps): Readonly<Record<string, ChatCommand>> {
  const aboutRole =
    (answer: (asked: RoleCommand) => Promise<Answer>): ChatCommand =>
    async (chat, { session }, text) => {
      const { models: chosen } = await chat.sessions.settings(session);
      const isWhole = text.trim() === "";
      return answer({ deps, chat, session, chosen, isWhole, ...readRoleAndRest(deps, text) });
    };
  return { model: aboutRole(answerModel), effort: aboutRole(answerEffort) };
}

interface RoleCommand extends ReturnType<typeof readRoleAndRest> {
  readonly deps: ModelCommandDeps;
  readonly chat: AgentDeps & StateDeps;
  readonly session: Chat;
  readonly chosen: ChosenModels;
  /** Neither a role nor a choice was named. */
  readonly isWhole: boolean;
}

async function saveChoice({ chat, session, role }: RoleCommand, choice: ModelChoiceOfRole | null) {
  const { models } = await chat.sessions.settings(session);
  const others = Object.entries(models).filter(([name]) => name !== role);
  const kept = choice === null || Object.keys(choice).length === 0 ? [] : [[role, choice] as const];
  await chat.sessions.saveSettings(session, { models: Object.fromEntries([...others, ...kept]) });
}

async function answerModel(asked: RoleCommand): Promise<Answer> {
  const { deps, chat, chosen, isWhole, role, rest } = asked;
  const agent = agentOf(role);
  if (rest === "") {
    const lines = listRoleModels(deps, chosen).filter((one) => isWhole || one.role === role);
    const own = memoryMessagesFor(chat.messages.locale).models;
    const measured = isWhole ? describeMeasured(chat.settings.measured) : null;
    return {
      ...answerAboutModels((words) =>
        [
          ...lines.map(words.line),
          ...(measured === null ? [] : [words.measured(measured)]),
          ...(isWhole ? [words.table(deps.catalogue.dated)] : []),
          words.offered(listOfferedModels(deps)),
          words.usage,
        ].join("\n"),
      ),
      choices: [
        ...modelChoices(deps, chosen, role, own),
        ...lines
          .filter((one) => one.role !== role)
          .map((one) => ({
            label: `${one.agent} …`,
            description: own.forOthers(one.agent, one.role, one.name),
            message: `/model ${one.agent.toLowerCase()}`,
          })),
      ],
    };
  }
  if (RESET.test(rest)) {
    await saveChoice(asked, null);
    return answerAboutModels((words) => words.reset(agent));
  }
  if (/\s/u.test(rest)) return answerAboutModels((words) => words.usage, false);
  const change = await chooseModel(deps, chosen, role, rest);
  if (!change.ok) {
    const { failure } = change;
    return answerInEveryLanguage(
      (locale) =>
        failure === null
          ? memoryMessagesFor(locale).models.unknown(rest)
          : (failure.texts?.[locale] ?? failure.message),
      false,
    );
  }
  await saveChoice(asked, change.choice);
  const { provider, model, local } = change.model;
  return answerAboutModels((words) => words.changed(agent, `${provider}/${model}`, local));
}

async function answerEffort(asked: RoleCommand): Promise<Answer> {
  const { deps, chat, chosen, role, rest } = asked;
  const agent = agentOf(role);
  const model = deps.models.forRole(role, chosen[role]);
  const name = "generate" in model ? `${model.provider}/${model.model}` : null;
  const known = "generate" in model ? findInCatalogue(deps.catalogue, model.model) : null;
  if (rest === "") {
    const effort = chosen[role]?.effort ?? ("generate" in model ? deps.effortOf(role, model.provider) : null);
    const own = memoryMessagesFor(chat.messages.locale).models;
    return {
      ...answerAboutModels((words) => `${words.effortNow(agent, name, effort)}\n${words.effortUsage}`),
      choices: [
        ...EFFORTS.map((one) => ({
          label: one,
          description: [
            own.effortWords[one] ?? "",
            own.forAgent(agent),
            ...(one === effort ? [own.isNow] : []),
          ].join(" · "),
          message: `/effort ${agent.toLowerCase()} ${one}`,
        })),
        defaultChoice(own, "effort", agent),
      ],
    };
  }
  const { effort: _, ...others } = chosen[role] ?? {};
  if (RESET.test(rest)) {
    await saveChoice(asked, others);
    return answerAboutModels((words) => words.reset(agent));
  }
  const wanted = rest.toLowerCase();
  if (!isEffort(wanted)) return answerAboutModels((words) => words.effortUsage, false);
  await saveChoice(asked, { ...others, effort: wanted });
  return answerAboutModels((words) =>
    [
      words.effortSet(agent, wanted),
      ...(known?.effort === false ? [words.effortIgnored(name ?? "")] : []),
    ].join("\n"),
  );
}

/** `/cloud on [QUESTION]`: the coders' model answers questions too, that one at once; `/cloud off` ends it. Only the owner may. */
export const cloud: ChatCommand<AgentDeps & ServiceDeps> = async (deps, turn, rest) => {
  const [, word = "", question = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest.trim()) ?? [];
  const { channel, userId } = turn.message;
  if (
    deps.setCloudTalk === undefined ||
    !(isOwnersChannel(channel) || (channel === "web" && userId === "operator"))
  )
    return createAnswer([say("cloudForOwner")], false);
  if (word !== "on" && word !== "off") return createAnswer([say("cloudUsage")], false);
  const coder = cloudCoder(deps, turn);
  if (word === "on" && coder === null) return createAnswer([say("cloudNone")], false);
  const refused = await deps.setCloudTalk(word === "on" ? coder : null);
  if (refused !== null) return createAnswer([say("cloudRefused", refused)], false);
  if (word === "on" && question !== "") return { ...createAnswer([], true), instead: question };
  return createAnswer([word === "on" ? say("cloudOn", coder?.provider ?? "") : say("cloudOff")], true);
};

/** The default coder, where it is a cloud model that can be asked. */
export function cloudCoder({ settings }: AgentDeps, { models }: Pick<ChatTurn, "models">): CloudTalk {
  const coder = models.models.forRole(settings.defaultCoder);
  return "generate" in coder && !coder.local ? { provider: coder.provider, model: coder.model } : null;
}

const BANNER_MS = 1_000;

/** The models that would talk and write code, for a banner; null: none can. */
export async function nameAnsweringModels(
  models: Models,
  { default_coder: role, coder }: Pick<Config["roles"], "default_coder" | "coder">,
): Promise<{ readonly chat: string | null; readonly coder: string | null }> {
  await models.look?.(AbortSignal.timeout(BANNER_MS));
  // A model that is not there is not announced.
  const named = async (role: ModelRole) => {
    const found = await findModel(models, role);
    return found?.trouble === null ? found.name : null;
  };
  const [talks, writes] = await Promise.all([named("chat"), named(role)]);
  return { chat: talks, coder: coder.head ?? writes };
}

/** The model of a role, and why it would not answer; null: none is set up. A cloud is not asked; one that is loading counts as there. */
export async function findModel(
  models: Pick<Models, "forRole">,
  role: ModelRole,
  choice?: ModelChoiceOfRole,
): Promise<{ readonly name: string; readonly trouble: ModelFailure["code"] | null } | null> {
  const model = models.forRole(role, choice);
  if (!("generate" in model)) return null;
  const soon = AbortSignal.timeout(BANNER_MS);
  const check = model.local ? await model.check(soon) : null;
  const isThere = check === null || check.ok || soon.aborted;
  return { name: `${model.provider}/${model.model}`, trouble: isThere ? null : check.failure.code };
}
