/** One finding of `doctor`. */
export interface DoctorCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly remedy?: string;
  /** Something works without it: told, but no failure of `doctor`. */
  readonly optional?: boolean;
}
