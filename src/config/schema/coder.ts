import { z } from "zod";
import { count, flag, hosts, optionalText, optionalUrl } from "./primitives.ts";

/** How long and how broadly a coder tries, and what becomes of a draft that is not green. */
export const coder = z
  .strictObject({
    attempts: count(4, "Attempts of one message: proposals that are run and judged.", { min: 1 }),
    candidates: z
      .int()
      .min(1)
      .max(3)
      .default(1)
      .meta({ description: "Coders that work on a message at once, each in a draft of its own." }),
    escalate: flag(false, "Ask the other coders as well when one does not get green."),
    fallback: z
      .array(z.enum(["coder1", "coder2", "coder3"]))
      .default([])
      .meta({
        description: "Coders that are asked when one cannot answer, in this order; the reply says so.",
      }),
    on_red: z
      .enum(["preview", "apply", "discard"])
      .default("preview")
      .meta({ description: "What becomes of a draft whose checks got worse." }),
    explore: count(12, "Rounds in which a coder may read and search before it writes."),
    max_minutes: count(30, "Minutes that the models of one message may take.", { min: 1 }),
    budget_usd: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .meta({ description: "What one message may cost, in US dollars; null is no limit." }),
  })
  .prefault({});

/** The project's own checks, which judge a draft. */
export const checks = z
  .strictObject({
    command: optionalText("How the project is tested; null finds it by the project's files."),
    timeout: count(300, "Seconds that one check may take.", { min: 1 }),
    auto_limit: count(60, "Checks that took longer than these seconds are not run by themselves."),
    network: flag(false, "Let checks reach the network."),
    enabled: z
      .enum(["auto", "always", "never"])
      .default("auto")
      .meta({ description: "Run checks: when they are fast enough, however long they take, never." }),
  })
  .prefault({});

/** How RESEARCH reads the web. */
export const research = z
  .strictObject({
    fetch: flag(true, "Let RESEARCH read pages of the web. What it reads goes to the worker's model alone."),
    allowed: hosts(
      "Hosts that may be read. Private addresses and this machine only by an exact `host:port`.",
      ["*"],
    ),
    denied: hosts("Hosts that may not be read, whatever is allowed."),
    search_url: optionalUrl(
      "A search engine that answers in JSON, with `{query}` in its address; null is no search.",
    ),
    timeout: count(20, "Seconds that a page may take.", { min: 1 }),
  })
  .prefault({});
