/** The slice `checks:` of the configuration. Times are in seconds. */
export interface CheckSettings {
  readonly command: string | null;
  readonly timeout: number;
  readonly auto_limit: number;
  readonly network: boolean;
  readonly enabled: "auto" | "always" | "never";
}
