import { z } from "zod";
import { configSchema } from "./root.ts";

/** What `schema.json` holds. */
export function generateJsonSchema(): object {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}
