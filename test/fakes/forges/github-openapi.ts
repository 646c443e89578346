import { z } from "zod";
import slice from "./github-openapi.json" with { type: "json" };

/** The parts of a request that GitHub's own description does not allow; empty when it is fine. */
export function openApiProblems(request: {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}): string[] {
  const { method, path, query, body } = request;
  const found = operations.find((each) => each.method === method && each.match.test(path));
  if (found === undefined) return [`${method} ${path}: GitHub describes no such operation`];
  const problems: string[] = [];
  const values: Record<string, string> = {
    ...query,
    ...Object.fromEntries(
      found.names.map((name, i) => [name, decodeURIComponent(found.match.exec(path)?.[i + 1] ?? "")]),
    ),
  };
  for (const { name, schema, required, type } of found.parameters) {
    const text = values[name];
    if (text === undefined) {
      if (required) problems.push(`${found.id}: ${name} is missing`);
      continue;
    }
    const value = type === "integer" ? Number(text) : type === "boolean" ? text === "true" : text;
    const parsed = schema.safeParse(value);
    if (!parsed.success) problems.push(`${found.id}: ${name}=${text}: ${parsed.error.message}`);
  }
  for (const name of Object.keys(query))
    if (!found.parameters.some((each) => each.name === name))
      problems.push(`${found.id}: unknown parameter ${name}`);
  if (found.body !== null && (body !== undefined || found.bodyRequired)) {
    const parsed = found.body.safeParse(body);
    if (!parsed.success) problems.push(`${found.id}: ${parsed.error.message}`);
    for (const name of Object.keys((body ?? {}) as object))
      if (!found.bodyNames.has(name)) problems.push(`${found.id}: unknown member ${name}`);
  }
  return problems;
}

const operations = slice.operations.map(({ method, path, id, parameters, body, bodyRequired }) => ({
  method,
  id,
  bodyRequired,
  names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
  match: new RegExp(`^${path.replace(/\{\w+\}/g, "([^/]+)")}$`),
  parameters: parameters.map((each) => ({
    name: each.name,
    required: each.required,
    type: (each.schema as { type?: string }).type,
    schema: z.fromJSONSchema(each.schema as never),
  })),
  body: body === null ? null : z.fromJSONSchema(body as never),
  bodyNames: namesIn(body),
}));

function namesIn(schema: unknown): ReadonlySet<string> {
  const {
    properties = {},
    oneOf = [],
    anyOf = [],
  } = (schema ?? {}) as {
    properties?: object;
    oneOf?: unknown[];
    anyOf?: unknown[];
  };
  return new Set([...Object.keys(properties), ...[...oneOf, ...anyOf].flatMap((each) => [...namesIn(each)])]);
}
