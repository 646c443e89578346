import { z } from "zod";
import { ROUTES } from "../../domain/config/configured-kinds.ts";
import { JOB_STATUSES } from "../../domain/jobs/job-status.ts";
import { isTimeZone } from "../../domain/platform/days.ts";
import { MOST_IMAGES } from "../../domain/platform/image.ts";
import { CHANNEL_NAMES } from "../channels/registry.ts";
import document from "./openapi.json" with { type: "json" };

/** The API reads a request by its schema, and describes it by the same. */
export const newMessage = z.object({
  text: z.string().max(100_000).default("").describe("May be empty where there are images."),
  images: z
    .unknown()
    .optional()
    .meta({
      type: "array",
      maxItems: MOST_IMAGES,
      items: {
        type: "object",
        required: ["data"],
        properties: { name: { type: "string" }, data: { type: "string", contentEncoding: "base64" } },
      },
      description: "PNG, JPEG, GIF or WebP, shown to the model that answers.",
    }),
  chat: z
    .string()
    .regex(/^[a-z0-9]{1,20}$/)
    .optional(),
  route: z.enum(ROUTES).optional(),
  event_id: z.string().max(100).optional().describe("Sent twice under one id, it is one message."),
  wait: z.number().min(0).max(25).default(0).describe("Seconds to wait for the reply."),
});

export const newJob = z.object({
  patch: z.string(),
  mode: z.enum(["apply", "preview", "dry-run"]).default("apply"),
  atomic: z.boolean().default(false),
});

const force = z.object({ force: z.boolean().optional().describe("Overwrite later changes.") });

const wholeNumber = (most: number) => z.coerce.number().int().min(1).max(most);

export const jobsQuery = z.object({
  limit: wholeNumber(500).default(50).describe("How many, or how many on a page."),
  q: z
    .string()
    .max(200)
    .optional()
    .describe("Words that all stand in the request, the title, a path or the id."),
  status: z.enum(JOB_STATUSES).optional().describe("What became of them."),
  chat: z.string().optional().describe("The chat whose message made them: `<channel>:<chat>`."),
  day: z.iso.date().optional().describe("The day they began, in `zone`."),
  zone: z
    .string()
    .refine(isTimeZone, "a time zone, as in Europe/Paris")
    .optional()
    .describe("The time zone of `day`, as in `Europe/Paris`. Default: `session.timezone`."),
  path: z.string().optional().describe("A part of a changed path."),
  page: wholeNumber(999_999).optional().describe("Which page; one that is not there is the last."),
});

export const usageQuery = z.object({ days: wholeNumber(366).default(30).describe("How far back.") });

type Json = Readonly<Record<string, unknown>>;

function jsonSchema(schema: z.ZodObject): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

const queryParameters = (schema: z.ZodObject) =>
  Object.entries(jsonSchema(schema).properties as Record<string, Json>).map(
    ([name, { description, ...rest }]) => ({ name, in: "query", required: false, schema: rest, description }),
  );

/** Answers that any request may get. */
const COMMON = {
  "401": failure("No token, or one that is not known."),
  "403": failure("The token lacks the scope, or an operator's is needed."),
};

function failure(description: string) {
  return { $ref: "#/components/responses/Failed", description };
}

/** The API's own description, OpenAPI 3.1. */
export function openApi(version: string): Json {
  const { info, paths, components, ...rest } = document;
  const queries: Record<string, z.ZodObject> = { "/jobs": jobsQuery, "/usage": usageQuery };
  const describe = (path: string, method: string, operation: Json) => ({
    ...operation,
    ...(method === "get" && queries[path] && { parameters: queryParameters(queries[path]) }),
    responses: { ...(operation.responses as Json), ...COMMON },
  });
  return {
    ...rest,
    info: { ...info, version },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [method, describe(path, method, operation)]),
        ),
      ]),
    ),
    components: {
      ...components,
      schemas: {
        ...components.schemas,
        NewMessage: jsonSchema(newMessage),
        NewJob: jsonSchema(newJob),
        Force: jsonSchema(force),
        Status: { enum: JOB_STATUSES },
        Route: { enum: ROUTES },
        Channel: { enum: ["web", ...CHANNEL_NAMES] },
      },
    },
  };
}
