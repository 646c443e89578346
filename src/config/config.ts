import type { z } from "zod";
import type { configSchema } from "./schema/root.ts";

/** The effective configuration; keys are spelled as in the file. */
export type Config = z.infer<typeof configSchema>;

/** What flags and tests set on top, already typed. */
export type ConfigOverrides = DeepPartial<Config>;

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;
