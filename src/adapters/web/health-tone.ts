import type { HealthLine } from "../../application/serve/inbox-health.ts";

/** What nobody set up and nobody needs is grey. */
export function healthTone({ ok, required, off }: HealthLine): "good" | "bad" | "weak" | "off" {
  if (ok) return "good";
  if (off === true) return "off";
  return required ? "bad" : "weak";
}
