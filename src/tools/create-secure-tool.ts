import type { z } from "zod";
import { ViewFault } from "../application/ports/platform-view.ts";
import { type ResolvedPath, resolvePathArgument, viewFaultError } from "./resolved-path.ts";
import { checkPolicy, checkWriteScope, type ToolContext } from "./tool-context.ts";
import {
  deniedResult,
  failedResult,
  type JobFacts,
  ToolError,
  type ToolFailure,
  type ToolResult,
} from "./tool-result.ts";

type CleanArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly failure: ToolFailure };

/** A plain object of limited size and well-formed text. Null counts as not given: models write it for what they leave out. */
function cleanArguments(raw: unknown, limitChars: number): CleanArguments {
  if (raw === undefined || raw === null) return { ok: true, value: {} };
  if (typeof raw !== "object" || Array.isArray(raw))
    return refuseArgument("INVALID_ARGUMENT", "the arguments must be one JSON object");
  const trouble = inspectArgument(raw, { chars: limitChars, values: MOST_VALUES }, DEEPEST);
  if (trouble === "too-large")
    return refuseArgument("ARGUMENT_TOO_LARGE", `the arguments are longer than ${limitChars} characters`);
  if (trouble === "not-text")
    return refuseArgument("INVALID_ARGUMENT", "an argument is not valid text (a lone surrogate)");
  return {
    ok: true,
    value: Object.fromEntries(
      Object.entries(raw).filter(([, value]) => value !== null && value !== undefined),
    ),
  };
}

const DEEPEST = 20;
const MOST_VALUES = 10_000;

function inspectArgument(
  value: unknown,
  left: { chars: number; values: number },
  depth: number,
): "too-large" | "not-text" | null {
  left.values -= 1;
  if (left.values < 0 || depth < 0) return "too-large";
  if (typeof value === "string") {
    left.chars -= value.length;
    if (left.chars < 0) return "too-large";
    return value.isWellFormed() ? null : "not-text";
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [key, below] of Object.entries(value)) {
    const trouble = inspectArgument(key, left, depth) ?? inspectArgument(below, left, depth - 1);
    if (trouble !== null) return trouble;
  }
  return null;
}

function refuseArgument(code: "INVALID_ARGUMENT" | "ARGUMENT_TOO_LARGE", message: string): CleanArguments {
  return { ok: false, failure: failedResult(code, message, "arguments") };
}

export interface CallOptions {
  /** Ends a running command, and takes its job back. */
  readonly signal?: AbortSignal;
  /** The output of a running command, as it arrives. */
  readonly onOutput?: (text: string) => void;
}

export interface ToolCall<Args> {
  readonly args: Args;
  /** Where a path argument leads; only for arguments that were given. */
  readonly place: (argument: string) => ResolvedPath;
  readonly context: ToolContext;
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

export interface ToolRunResult<Data> {
  readonly data?: Data;
  readonly job?: JobFacts;
  readonly notes?: readonly string[];
}

type ToolAccess = "read" | "write";

export interface ToolSpec<Name extends string, Schema extends z.ZodObject, Data> {
  readonly name: Name;
  readonly aliases?: readonly string[];
  readonly title: string;
  readonly description: string;
  /** The one source of its arguments: types, checks and definitions. */
  readonly input: Schema;
  /** The schema of its data, for clients that receive one. */
  readonly output?: z.ZodObject;
  /** Whether a call with these raw arguments writes. Decided before they are checked. */
  readonly access: ToolAccess | ((args: Readonly<Record<string, unknown>>) => ToolAccess);
  /** For clients that ask a person: whether it may overwrite or delete. */
  readonly destructive?: boolean;
  /** Whether it reaches beyond the workspace (a command may use the network). */
  readonly openWorld?: boolean;
  /** Arguments that name a path of the workspace. */
  readonly paths?: readonly string[];
  /** Checks arguments beyond the schema; a text refuses them. */
  readonly refine?: (args: z.output<Schema>) => string | null;
  run(call: ToolCall<z.output<Schema>>): Promise<ToolRunResult<Data>>;
}

export interface SecureTool<
  Name extends string = string,
  Schema extends z.ZodObject = z.ZodObject,
  Data = unknown,
> extends Omit<ToolSpec<Name, Schema, Data>, "run" | "refine"> {
  readonly aliases: readonly string[];
  /** Never rejects. */
  invoke(context: ToolContext, args: unknown, options?: CallOptions): Promise<ToolResult<Data>>;
}

/** In this order: policy → write permission → path → the tool (its arguments first). */
export function createSecureTool<Name extends string, Schema extends z.ZodObject, Data>(
  spec: ToolSpec<Name, Schema, Data>,
): SecureTool<Name, Schema, Data> {
  const { run, refine, ...known } = spec;
  const aliases = spec.aliases ?? [];

  async function guarded(
    context: ToolContext,
    raw: unknown,
    options: CallOptions,
  ): Promise<ToolResult<Data>> {
    const refused = checkPolicy(context.policy, [spec.name, ...aliases]);
    if (refused !== null) return refused;
    const args = cleanArguments(raw, context.limits.argumentChars);
    const named = args.ok ? args.value : {};
    const access = typeof spec.access === "function" ? spec.access(named) : spec.access;
    const readOnly = checkWriteScope(context.writeScope, access, spec.name);
    if (readOnly !== null) return readOnly;
    if (!args.ok) return args.failure;
    const places = new Map<string, ResolvedPath>();
    for (const name of spec.paths ?? []) {
      const given = args.value[name];
      if (typeof given === "string" && given !== "")
        places.set(name, await resolvePathArgument(context, given));
    }
    const parsed = spec.input.safeParse(args.value);
    if (!parsed.success)
      return failedResult("INVALID_ARGUMENT", describeIssues(parsed.error, spec.input), "arguments");
    const complaint = refine?.(parsed.data) ?? null;
    if (complaint !== null) return failedResult("INVALID_ARGUMENT", complaint, "arguments");
    const done = await run({
      args: parsed.data,
      place: (name) => {
        const place = places.get(name);
        if (place === undefined)
          throw new ToolError("INVALID_ARGUMENT", `${name}: must not be empty`, { reason: "arguments" });
        return place;
      },
      context,
      signal: options.signal ?? new AbortController().signal,
      onOutput: options.onOutput ?? (() => {}),
    });
    const notes = [
      ...(done.notes ?? []),
      ...(done.job === undefined ? [] : foreignJob(context, places)),
    ].filter((note) => note !== "");
    return {
      status: "success",
      ...(done.data !== undefined && { data: done.data }),
      ...done.job,
      ...(notes.length > 0 && { notes }),
    };
  }

  return {
    ...known,
    aliases,
    async invoke(context, args, options = {}) {
      try {
        return await guarded(context, args, options);
      } catch (error) {
        return toFailure(error, context.workspace.mask);
      }
    },
  };
}

/** With the write scope `unrestricted` a job may belong to another folder; it is undone there. */
function foreignJob(
  { workspace }: ToolContext,
  places: ReadonlyMap<string, ResolvedPath>,
): readonly string[] {
  return [...places.values()]
    .filter((place) => place.workspace !== workspace)
    .map((place) => `outside the workspace: this is a job of ${place.workspace.root}`);
}

/** Everything a tool did not expect is INTERNAL; the text is masked, since it may quote anything. */
function toFailure(error: unknown, mask: (text: string) => string): ToolFailure {
  const known = error instanceof ViewFault ? viewFaultError(error) : error;
  if (known instanceof ToolError) {
    const { code, how } = known;
    const build = how.status === "denied" ? deniedResult : failedResult;
    return build(code, mask(known.message), how.reason ?? "tool");
  }
  return failedResult("INTERNAL", mask(error instanceof Error ? error.message : String(error)));
}

const MOST_ISSUES = 10;

function describeIssues({ issues }: z.ZodError, { shape }: z.ZodObject): string {
  const known = ` (there are ${Object.keys(shape).join(", ")})`;
  return issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message, code }) =>
      path.length > 0
        ? `${path.join(".")}: ${message}`
        : `${message}${code === "unrecognized_keys" ? known : ""}`,
    )
    .join("; ")
    .slice(0, 2000);
}
