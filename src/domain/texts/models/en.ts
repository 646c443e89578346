import type { ModelFacts, ModelMessages, RemoteReason } from "./messages.ts";

const who = ({ provider, model }: ModelFacts) => `${provider} (${model})`;
const wait = ({ waitSeconds }: ModelFacts) =>
  waitSeconds === undefined ? "" : ` (try again in ${waitSeconds} s)`;
const said = ({ detail }: ModelFacts) => (detail === "" ? "" : `: ${detail}`);

const WHY: Readonly<Record<RemoteReason, string>> = {
  "not-declared": "its provider is not declared `local: true`",
  "cloud-host": "its address belongs to a cloud, whatever `local` says",
  "public-host": "its Ollama is at a public address",
  "cloud-model": "this Ollama model is computed in Ollama's cloud",
};

export const en: ModelMessages = {
  unreachable: (facts) => `${who(facts)} cannot be reached at ${facts.address}${said(facts)}`,
  connectTimeout: (facts) =>
    `${who(facts)}: no connection to ${facts.address} within ${facts.detail} s (models.connect_timeout)`,
  firstTokenTimeout: (facts) =>
    `${who(facts)} did not begin to answer within ${facts.detail} s (models.first_token_timeout)`,
  idleTimeout: (facts) =>
    `${who(facts)} fell silent for ${facts.detail} s in the middle of its answer (models.idle_timeout)`,
  rateLimited: (facts) => `${who(facts)} is asked too often (429)${said(facts)}${wait(facts)}`,
  quotaSpent: (facts) => `the account of ${who(facts)} has no credit left${said(facts)}`,
  serverError: (facts) => `${who(facts)} has a problem of its own${said(facts)}`,
  unauthorized: (facts) => `${who(facts)} refused the key${said(facts)}`,
  unknownModel: (facts) => `${facts.provider} has no model ${facts.model}${said(facts)}`,
  contextTooLong: (facts) => `the conversation is too long for ${who(facts)}${said(facts)}`,
  badRequest: (facts) => `${who(facts)} did not accept the request${said(facts)}`,
  redirected: (facts) =>
    `${who(facts)}: ${facts.address} points elsewhere (${facts.detail}), which is not followed; set base_url`,
  cutOff: (facts) => `the answer of ${who(facts)} was cut off${said(facts)}`,
  empty: (facts) => `${who(facts)} gave an empty answer`,
  thoughtOnly: (facts) => `${who(facts)} spent its tokens on thinking and gave no answer; raise max_tokens`,
  malformed: (facts) => `${who(facts)} answered what cannot be read${said(facts)}`,
  aborted: (facts) => `the call to ${who(facts)} was stopped`,
  noKey: (provider, variable) => `${provider} has no key: the variable ${variable} is not set`,
  unknownProvider: (role, provider) => `roles.${role}.provider names ${provider}, which is not configured`,
  noModelName: (provider) => `providers.${provider} names no model`,
  noBaseUrl: (provider) => `providers.${provider} has no base_url`,
  scriptUnusable: (file, detail) => `the script ${file} cannot be used: ${detail}`,
  noScriptedAnswer: (file, message) => `the script ${file} has no answer to: ${message}`,
  refusedRemote: (role, { provider, model, why }) =>
    `${role} may only use a local model, and ${provider} (${model}) is none: ${WHY[why]}. Nothing was sent. Set roles.${role} to a local model, or security.local_only: false.`,
  remedy: {
    pull: (model) => `ollama pull ${model}`,
    startOllama: (address) => `start Ollama (ollama serve), or set ollama.base_url; asked: ${address}`,
    setKey: (variable) => `export ${variable}=…`,
    checkModelName: (provider) => `set providers.${provider}.model to one that the account may use`,
    checkAddress: (provider) => `check the network, and providers.${provider}.base_url`,
    useLocal: "set the role to a local model, or security.local_only: false",
  },
  doctor: {
    role: (role, agent, model) => `model for ${role} (${agent}): ${model}`,
    answers: "answers",
    pulled: "pulled",
    scripted: (file) => `answers from ${file}`,
    checkTimeout: "no answer in time",
    priceUnknown: (model) => `nobody knows what ${model} costs: it does not count against budget.daily`,
    setPrice: (model) => `set budget.prices: { "${model}": { input: …, output: …, cached: … } }`,
  },
};
