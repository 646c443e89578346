import { isTimeZone } from "../domain/platform/days.ts";
import { attemptOr } from "../domain/platform/error-text.ts";
import { nearestName } from "../domain/platform/nearest.ts";
import { isNetworkEntry } from "../domain/policy/network.ts";
import type { ConfigProblem } from "../domain/texts/config-problem.ts";
import { type Config, DEFAULTS } from "./config.ts";
import {
  expectedOf,
  invalidValue,
  jsonSchema,
  knownKeys,
  nodeAt,
  type Origin,
  type SchemaNode,
} from "./keys.ts";
import { parseByteSize } from "./scalar-values.ts";
import { getAt, isTree, type Path, pathText, type Tree } from "./tree.ts";

interface Refusal {
  readonly path: Path;
  readonly why: "value" | "unknown-key" | "name";
}

export type AcceptResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusals: readonly Refusal[] };

const acceptedValue = (value: unknown): AcceptResult => ({ ok: true, value });
const refusedValue = (path: Path): AcceptResult => ({ ok: false, refusals: [{ path, why: "value" }] });

/** Reads a tree by `schema.json`: defaults filled in, sizes as bytes, or every place that is not as the schema says. */
export function acceptTree(node: SchemaNode, value: unknown, path: Path = []): AcceptResult {
  if (value === undefined) return acceptAbsent(node, path);
  if (node.size === true && typeof value === "string") {
    const bytes = parseByteSize(value);
    return bytes === undefined ? refusedValue(path) : acceptedValue(bytes);
  }
  if (node.anyOf !== undefined) return acceptAny(node.anyOf, value, path);
  const when = (fits: boolean) => (fits ? acceptedValue(value) : refusedValue(path));
  switch (node.type) {
    case undefined:
      return acceptedValue(value);
    case "null":
      return when(value === null);
    case "boolean":
      return when(typeof value === "boolean");
    case "integer":
      return when(Number.isSafeInteger(value) && inBounds(node, value as number));
    case "number":
      return when(Number.isFinite(value) && inBounds(node, value as number));
    case "string":
      return when(typeof value === "string" && isText(node, value));
    case "array":
      return Array.isArray(value) ? acceptList(node, value, path) : refusedValue(path);
    case "object":
      return isTree(value) ? acceptMap(node, value, path) : refusedValue(path);
    default:
      return refusedValue(path);
  }
}

/** Where only one of the choices has parts, as the value has, its refusals say more than that none fits. */
function acceptAny(choices: readonly SchemaNode[], value: unknown, path: Path): AcceptResult {
  const results = choices.map((one) => acceptTree(one, value, path));
  const accepted = results.find(({ ok }) => ok);
  if (accepted !== undefined) return accepted;
  const kind = Array.isArray(value) ? "array" : isTree(value) ? "object" : null;
  const [alike, ...others] = results.filter((_, at) => choices[at]?.type === kind);
  return alike === undefined || others.length > 0 ? refusedValue(path) : alike;
}

/** A section that is missing has the defaults of its keys; for those of the tree, `defaults.json` has them written out. */
function acceptAbsent(node: SchemaNode, path: Path): AcceptResult {
  if (node.properties !== undefined && "default" in node) {
    const written =
      nodeAt(jsonSchema(), path) === node ? getAt(DEFAULTS as unknown as Tree, path) : undefined;
    return written === undefined ? acceptMap(node, {}, path) : acceptedValue(structuredClone(written));
  }
  return acceptedValue(typeof node.default === "object" ? structuredClone(node.default) : node.default);
}

function acceptList(node: SchemaNode, list: readonly unknown[], path: Path): AcceptResult {
  const results = list.map((item, at) => acceptTree(node.items ?? {}, item ?? null, [...path, at]));
  const refusals = results.flatMap((result) => (result.ok ? [] : result.refusals));
  if (refusals.length > 0) return { ok: false, refusals };
  return acceptedValue(results.map((result) => (result.ok ? result.value : undefined)));
}

function acceptMap(node: SchemaNode, map: Tree, path: Path): AcceptResult {
  const { properties = {}, additionalProperties, propertyNames, required } = node;
  const refusals: Refusal[] = [];
  const value: Record<string, unknown> = {};
  const take = (key: string, inner: AcceptResult) => {
    if (!inner.ok) refusals.push(...inner.refusals);
    else if (inner.value !== undefined) value[key] = inner.value;
  };
  const own = (key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);
  for (const [key, inner] of Object.entries(properties)) {
    const at = [...path, key];
    take(
      key,
      own(key) === undefined && required?.includes(key) ? refusedValue(at) : acceptTree(inner, own(key), at),
    );
  }
  for (const key of Object.keys(map).filter((name) => !Object.hasOwn(properties, name))) {
    const at = [...path, key];
    if (!additionalProperties) refusals.push({ path: at, why: "unknown-key" });
    else if (propertyNames !== undefined && !isText(propertyNames, key))
      refusals.push({ path: at, why: "name" });
    else
      take(key, map[key] === undefined ? refusedValue(at) : acceptTree(additionalProperties, map[key], at));
  }
  return refusals.length > 0 ? { ok: false, refusals } : acceptedValue(value);
}

function inBounds({ const: only, minimum, maximum, exclusiveMinimum }: SchemaNode, value: number): boolean {
  if (only !== undefined && value !== only) return false;
  if (minimum !== undefined && value < minimum) return false;
  if (maximum !== undefined && value > maximum) return false;
  return exclusiveMinimum === undefined || value > exclusiveMinimum;
}

function isText(node: SchemaNode, value: string): boolean {
  if (node.enum !== undefined && !node.enum.includes(value)) return false;
  if (node.minLength !== undefined && value.length < node.minLength) return false;
  if (node.maxLength !== undefined && value.length > node.maxLength) return false;
  if (node.pattern !== undefined && !new RegExp(node.pattern).test(value)) return false;
  return node.timezone !== true || isTimeZone(value);
}

export type ValidateResult<Settings = Config> =
  | { readonly ok: true; readonly config: Settings }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** The one validator. It walks the schema that zod's declarations are printed as, so that no start loads zod for the configuration. */
export function validateSettings<Settings = Config>(
  tree: Tree,
  root: SchemaNode,
  origin: Origin,
): ValidateResult<Settings> {
  const result = acceptTree(root, tree);
  if (result.ok) return { ok: true, config: result.value as Settings };
  const problems = result.refusals.map((refusal, index) =>
    index >= MOST_SUGGESTIONS && refusal.why === "unknown-key"
      ? plainUnknownKey(refusal.path, origin)
      : problemOf(refusal, tree, root, origin),
  );
  return { ok: false, problems };
}

/** A nearest key is searched for among hundreds: for a file of thousands of wrong keys that would take seconds. */
const MOST_SUGGESTIONS = 100;

function problemOf({ path, why }: Refusal, tree: Tree, root: SchemaNode, origin: Origin): ConfigProblem {
  if (why === "unknown-key") return unknownKey(path, root, origin);
  const key = pathText(path);
  const { shown: name = "a name of letters, digits, _ . and -" } =
    nodeAt(root, path.slice(0, -1))?.propertyNames ?? {};
  if (why === "name") return invalidValue(key, path.at(-1), name, origin);
  return invalidValue(key, getAt(tree, path), expectedOf(nodeAt(root, path) ?? {}), origin);
}

/** The nearest valid key at that position; failing that, a key of that name elsewhere in the tree. */
function unknownKey(path: Path, root: SchemaNode, origin: Origin): ConfigProblem {
  const name = String(path.at(-1));
  const parent = path.slice(0, -1);
  const sibling = nearestName(name, Object.keys(nodeAt(root, parent)?.properties ?? {}));
  const near = sibling === undefined ? elsewhere(name, root) : pathText([...parent, sibling]);
  return { ...plainUnknownKey(path, origin), ...(near === undefined ? {} : { nearest: near }) };
}

function plainUnknownKey(path: Path, origin: Origin): ConfigProblem & { readonly code: "unknown-key" } {
  const at = origin.position(pathText(path));
  return { code: "unknown-key", key: pathText(path), ...(at === undefined ? {} : { at }) };
}

function elsewhere(name: string, root: SchemaNode): string | undefined {
  const keys = knownKeys(root).filter((key) => !key.path.includes("*"));
  const same = keys.find((key) => key.path.at(-1) === name);
  if (same !== undefined) return same.path.join(".");
  return nearestName(
    name,
    keys.map((key) => key.path.join(".")),
  );
}

/** Rules beyond the schema: every role names an existing provider, and every host is valid. */
export function checkReferences(config: Config, origin: Origin): ConfigProblem[] {
  return [...roleProblems(config, origin), ...hostProblems(config, origin)];
}

/** Times of the configuration that are no rule, or never come. The library that reads rules is loaded only where there are some. */
export async function checkSchedules(config: Config, origin: Origin): Promise<ConfigProblem[]> {
  const { schedules, heartbeat, session } = config;
  const rules = [
    ...schedules.map(({ cron, timezone }, i) => ({ key: `schedules[${i}].cron`, cron, timezone })),
    ...(heartbeat.cron === DEFAULTS.heartbeat.cron
      ? []
      : [{ key: "heartbeat.cron", cron: heartbeat.cron, timezone: undefined }]),
  ];
  if (rules.length === 0) return [];
  const { Cron } = await import("croner");
  const isDueEver = (cron: string, timezone: string) => {
    return attemptOr(false, () => {
      // Five or six fields name no year: a rule that ever fires also fires after any given day.
      return new Cron(cron, { timezone, paused: true }).nextRun(new Date(0)) !== null;
    });
  };
  return rules.flatMap(({ key, cron, timezone }) =>
    isDueEver(cron, timezone ?? session.timezone ?? "UTC")
      ? []
      : [invalidValue(key, cron, "cron fields (minute hour day month weekday) with a future time", origin)],
  );
}

function hostProblems(
  { worker: { network, model_network: model }, research }: Config,
  origin: Origin,
): ConfigProblem[] {
  const lists = {
    "worker.network.allowed_domains": network.allowed_domains,
    "worker.network.denied_domains": network.denied_domains,
    "worker.model_network.allowed_domains": model.allowed_domains,
    "worker.model_network.denied_domains": model.denied_domains,
    "research.allowed": research.allowed,
    "research.denied": research.denied,
  };
  return Object.entries(lists).flatMap(([key, entries]) =>
    entries.flatMap((entry, i) =>
      isNetworkEntry(entry)
        ? []
        : [invalidValue(`${key}[${i}]`, entry, "example.org, *.example.org or host:port", origin)],
    ),
  );
}

function roleProblems(config: Config, origin: Origin): ConfigProblem[] {
  const names = ["ollama", ...Object.keys(config.providers)];
  const { default_coder: _, coder: __, measured: ___, ...roles } = config.roles;
  return Object.entries(roles).flatMap(([role, { provider }]): ConfigProblem[] =>
    names.includes(provider)
      ? []
      : [invalidValue(`roles.${role}.provider`, provider, names.join(" | "), origin)],
  );
}
