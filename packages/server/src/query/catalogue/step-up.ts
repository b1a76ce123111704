/** What the definitions of tables demand of the sign-in of their callers (RFC 9470). */
import { type StepUpNeed, type StepUpRules, strictest } from 'gatehouse-protocol'
import type { TableDefinition } from './definition.ts'

/** Undefined if neither demands anything. */
export function toRules(
  read: StepUpNeed | null | undefined,
  write: StepUpNeed | null | undefined,
): StepUpRules | undefined {
  if (!read && !write) return undefined
  return { ...(read && { read }), ...(write && { write }) }
}

/** A caller who writes to a table learns about its rows, for example by a violated key: writing needs what reading needs, too. */
export function writeNeed({ stepUp }: Pick<TableDefinition, 'stepUp'>): StepUpNeed | undefined {
  return strictest(stepUp?.read, stepUp?.write)
}
