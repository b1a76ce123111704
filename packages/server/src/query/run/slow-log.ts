/** Statements that took long, for the log: with their text as it was sent, and never with the values of parameters. */

export interface SlowStatement {
  readonly statement: string
  readonly ms: number
  readonly outcome: string
  readonly reqId?: string
  readonly user?: string | undefined
  readonly client?: string | undefined
  /** The owner of a live statement. */
  readonly owner?: string
}

export interface SlowLog {
  /** Infinity if none is logged. A reload can change it. */
  readonly limits: { readonly slowMs: number }
  readonly onSlow: (statement: SlowStatement) => void
}

const LONGEST_TEXT = 10_000

export function logSlow({ onSlow }: SlowLog, { statement, ms, ...rest }: SlowStatement): void {
  const text = statement.length > LONGEST_TEXT ? `${statement.slice(0, LONGEST_TEXT)}…` : statement
  onSlow({ ...rest, ms: Math.round(ms), statement: text })
}
