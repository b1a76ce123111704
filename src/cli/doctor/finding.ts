/** What the doctor says of one thing it looked at. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'fault'
  /** Stable, for programs: `certificate.expired`. */
  readonly code: string
  readonly message: string
  /** What to do about it; absent when all is well. */
  readonly mend?: string
}

export function ok(code: string, message: string): Finding {
  return { level: 'ok', code, message }
}

export function warning(code: string, message: string, mend: string): Finding {
  return { level: 'warning', code, message, mend }
}

export function fault(code: string, message: string, mend: string): Finding {
  return { level: 'fault', code, message, mend }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
