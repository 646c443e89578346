import type { RemoteReason } from "../../models/locality.ts";
import type { AnswerForm, ModelFacts } from "../../models/model-facts.ts";

const who = ({ provider, model }: ModelFacts) => `${provider} (${model})`;
const wait = ({ waitSeconds }: ModelFacts) =>
  waitSeconds === undefined ? "" : ` (try again in ${waitSeconds} s)`;
const said = ({ detail }: ModelFacts) => (detail === "" ? "" : `: ${detail}`);

const WHY: Readonly<Record<RemoteReason, string>> = {
  "not-declared": "its provider is not declared `local: true`",
  "cloud-host": "its address belongs to a cloud service, even though `local` is set",
  "public-host": "its Ollama is at a public address",
  "cloud-model": "this Ollama model is computed in Ollama's cloud",
};

type RefusedModel = Pick<ModelFacts, "provider" | "model"> & { readonly why: RemoteReason };

export const modelsTexts = {
  unreachable: (facts: ModelFacts) => `${who(facts)} cannot be reached at ${facts.address}${said(facts)}`,
  unknownSigner: (facts: ModelFacts) =>
    `${who(facts)}: the certificate of ${facts.address} has an unknown signer${said(facts)}\n→ Behind a proxy with its own certificate, set NODE_EXTRA_CA_CERTS to the file of its signer`,
  connectTimeout: (facts: ModelFacts) =>
    `${who(facts)}: no connection to ${facts.address} within ${facts.detail} s (models.connect_timeout)`,
  firstTokenTimeout: (facts: ModelFacts) =>
    `${who(facts)} did not start to answer within ${facts.detail} s (models.first_token_timeout)`,
  idleTimeout: (facts: ModelFacts) =>
    `${who(facts)} sent nothing for ${facts.detail} s in the middle of its answer (models.idle_timeout)`,
  rateLimited: (facts: ModelFacts) =>
    `${who(facts)} is over its rate limit (429)${said(facts)}${wait(facts)}`,
  quotaSpent: (facts: ModelFacts) =>
    `the account of ${who(facts)} has no credit left${said(facts)}\n→ Add credit to that account, or choose another model: picoclaw init`,
  serverError: (facts: ModelFacts) => `${who(facts)} reported a server error${said(facts)}`,
  unauthorized: (facts: ModelFacts) => `${who(facts)} rejected the API key${said(facts)}`,
  unknownModel: (facts: ModelFacts) => `${facts.provider} has no model ${facts.model}${said(facts)}`,
  contextTooLong: (facts: ModelFacts) => `the conversation is too long for ${who(facts)}${said(facts)}`,
  badRequest: (facts: ModelFacts) => `${who(facts)} did not accept the request${said(facts)}`,
  toolsRefused: (facts: ModelFacts) =>
    `${who(facts)} cannot call tools${said(facts)}\n→ Start llama.cpp's server with --jinja, or choose a model that calls tools: /model`,
  redirected: (facts: ModelFacts) =>
    `${who(facts)}: ${facts.address} redirects to ${facts.detail}, which is not followed; set base_url`,
  cutOff: (facts: ModelFacts) => `the answer of ${who(facts)} was cut off${said(facts)}`,
  empty: (facts: ModelFacts) => `${who(facts)} gave an empty answer`,
  thoughtOnly: (facts: ModelFacts) =>
    `${who(facts)} spent its tokens on thinking and gave no answer; raise max_tokens`,
  answerTooLong: (facts: ModelFacts) =>
    `the answer of ${who(facts)} is longer than ${facts.detail} and was cut off`,
  inCircles: (facts: ModelFacts) =>
    `${who(facts)} repeated the same words without end and was stopped\n→ Ask in other words, or choose a larger model: /model`,
  malformed: (facts: ModelFacts) => `${who(facts)} sent an answer that cannot be parsed${said(facts)}`,
  aborted: (facts: ModelFacts) => `the call to ${who(facts)} was stopped`,
  noImages: (facts: ModelFacts) => `${who(facts)} cannot read images. Nothing was sent`,
  imagesRefused: (facts: ModelFacts) => `${who(facts)} did not accept the images${said(facts)}`,
  noKey: (provider: string, variable: string) =>
    `${provider} has no key: the environment variable ${variable} is not set`,
  unknownProvider: (role: string, provider: string) =>
    `roles.${role}.provider names ${provider}, which is not configured`,
  noModelName: (provider: string) => `providers.${provider} names no model`,
  noBaseUrl: (provider: string) => `providers.${provider} has no base_url`,
  scriptUnusable: (file: string, detail: string) => `the script ${file} cannot be used: ${detail}`,
  noScriptedAnswer: (file: string, message: string) => `the script ${file} has no answer to: ${message}`,
  refusedRemote: (role: string, { provider, model, why }: RefusedModel) =>
    `${role} may only use a local model, and ${provider} (${model}) is not local: ${WHY[why]}. Nothing was sent. Set roles.${role} to a local model, or security.local_only: false.`,
  remedy: {
    pull: (model: string, installed: readonly string[] = []) =>
      installed.length === 0
        ? `ollama pull ${model}, or choose another one: picoclaw init`
        : `choose an installed one (${installed.slice(0, 8).join(", ")}): picoclaw init; or: ollama pull ${model}`,
    /** `address`: null where the words before it have named it. */
    startOllama: (address: string | null) =>
      `start Ollama (ollama serve; get it at https://ollama.com/download), or choose other models: picoclaw init${address === null ? "" : `; tried: ${address}`}`,
    setKey: (variable: string) =>
      `picoclaw login (asks for the key, tests it and keeps it), or export ${variable}=… where PicoClaw runs`,
    /** `successor`: what the provider's own list has in its place. */
    checkModelName: (provider: string, successor: string | null = null) =>
      successor === null
        ? `choose one that your account can use: picoclaw init (by hand: roles, or providers.${provider}.model)`
        : `${provider} serves ${successor} instead: picoclaw init takes it (by hand: roles, or providers.${provider}.model)`,
    checkAddress: (provider: string) =>
      `check the network and providers.${provider}.base_url, or choose another model: picoclaw init`,
    startServer: (address: string | null) =>
      `start the server${address === null ? "" : ` at ${address}`}, or choose another model: picoclaw init`,
    useLocal:
      "two options: a local model (https://ollama.com/download), or a cloud model for chat too; picoclaw init asks which",
  },
  doctor: {
    /** Behind the name of a role's model. */
    insteadOf: (wanted: string) => ` (${wanted} is not installed; choose with picoclaw init)`,
    /** Behind the name of a role's model: the same line's newest in the provider's list. */
    newer: (model: string) => ` (newer there: ${model}; picoclaw init takes it)`,
    role: (role: string, agent: string, model: string) => `model for ${role} (${agent}): ${model}`,
    nothingSetUp: "no model is set up yet",
    setUp: "picoclaw init (it finds models and asks for the rest), or paste a key: picoclaw login",
    cloudToo: "or let your coder's model answer questions too: picoclaw chat /cloud on",
    answers: "answers",
    pulled: "pulled",
    scripted: (file: string) => `answers from ${file}`,
    checkTimeout: (seconds: number, isLocal: boolean) =>
      `no answer after ${seconds} s${isLocal ? "; it may still be loading" : ""}`,
    seen: (
      name: string,
      forms: readonly (readonly [
        AnswerForm,
        Readonly<Record<"read" | "unread" | "endless" | "green", number>>,
      ])[],
      reads: number,
      writes: number,
    ) => {
      const form = { whole: "whole files", edits: "edits", json: "JSON" };
      const counts = forms.map(
        ([of, { read, unread, endless, green }]) =>
          `${form[of]}: ${read} read, ${unread} not, ${endless} endless, ${green} green`,
      );
      const speed = reads > 0 ? [`reads ${reads} and writes ${writes} tokens a second`] : [];
      return `answers of ${name}: ${[...counts, ...speed].join("; ")}`;
    },
    priceUnknown: (model: string) => `the price of ${model} is unknown: it is not used while a budget is set`,
    setPrice: (model: string) => `set budget.prices: { "${model}": { input: …, output: …, cached: … } }`,
  },
};
