/** The result of one check of the doctor. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'fault'
  /** Stable, for programs, such as `certificate.expired`. */
  readonly code: string
  readonly message: string
  /** How to fix it; absent when the level is `ok`. */
  readonly mend?: string
}

/** Undefined if the check finds nothing to report. */
export type Checked = Finding | undefined

export function ok(code: string, message: string): Finding {
  return { level: 'ok', code, message }
}

export function warning(code: string, message: string, mend: string): Finding {
  return { level: 'warning', code, message, mend }
}

export function fault(code: string, message: string, mend: string): Finding {
  return { level: 'fault', code, message, mend }
}

/** What the checks found; if that is nothing, `otherwise`. */
export function collect(checked: Iterable<Checked>, ...otherwise: readonly Finding[]): readonly Finding[] {
  const findings = [...checked].filter((finding) => finding !== undefined)
  return findings.length > 0 ? findings : otherwise
}

export function errorReason(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
