import { z } from "zod";
import { parseByteSize } from "../scalar-values.ts";

export function size(bytes: number, description: string) {
  return z
    .union([z.int().nonnegative(), z.string().refine((text) => parseByteSize(text) !== undefined)])
    .default(bytes)
    .transform((value) => (typeof value === "number" ? value : (parseByteSize(value) ?? 0)))
    .meta({ description, size: true, shown: 'size ("2GiB", "500MB", bytes)' });
}

/** A map of keys that a file may leave out, because each of them has a default. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>);
}

export function choice<const Name extends string>(names: readonly Name[], value: Name, description: string) {
  return z.enum(names).default(value).meta({ description });
}

export function flag(value: boolean, description: string) {
  return z.boolean().default(value).meta({ description });
}

export function count(value: number, description: string, { min = 0 }: { readonly min?: number } = {}) {
  return z.int().min(min).default(value).meta({ description });
}

export function text(value: string, description: string) {
  return z.string().default(value).meta({ description });
}

export function optionalText(description: string) {
  return z.string().min(1).nullable().default(null).meta({ description });
}

export function texts(values: readonly string[], description: string) {
  return z
    .array(z.string().min(1))
    .default([...values])
    .meta({ description });
}

/** Entries of `domain/policy/network.ts`; the finer points are checked when the file is loaded. */
const HOST_ENTRY = /^(?:\*|(?:\*\.)?[^\s:*/\\@?#%[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?:\*|\d{1,5}))?$/;

export function hosts(description: string, values: readonly string[] = []) {
  const host = z.string().regex(HOST_ENTRY).meta({ shown: "example.org, *.example.org or host:port" });
  return z
    .array(host)
    .default([...values])
    .meta({ description, shown: "list of hosts" });
}

export function httpUrl() {
  return z.string().regex(/^https?:\/\/[^\s@]+$/);
}

export function optionalUrl(description: string) {
  return httpUrl().nullable().default(null).meta({ description, shown: "http(s) URL without credentials" });
}

const REFERENCE = /^env:[A-Za-z_][A-Za-z0-9_]*$/;

export function secret(reference: string | null, description: string) {
  return z
    .string()
    .regex(REFERENCE)
    .nullable()
    .default(reference)
    .meta({ description, secret: true, reference: true, shown: "env:NAME" });
}

/** A name that people choose: a provider, an MCP server, an environment. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
export const chosenName = z.string().regex(NAME);
