/** Step-up (RFC 9470) as files and requests declare it: `require_acr` and `require_age`, and the same for writes. */
import { ACR_LEVELS, type AcrLevel, LONGEST_AGE, readStepUpNeed, type StepUpRules } from 'gatehouse-protocol'
import { number } from '../schema/builders.ts'

function level(description: string) {
  return number('integer', { minimum: ACR_LEVELS[0], maximum: ACR_LEVELS.at(-1) ?? 0, description })
}

function age(description: string) {
  return number('integer', { minimum: 1, maximum: LONGEST_AGE, description })
}

export const STEP_UP_MEMBERS = {
  require_acr: level('The sign-in that is needed: 1 for one factor, 2 for two factors (step-up). Default: any.'),
  require_age: age('How many seconds ago the user may have signed in (step-up). Default: without a limit.'),
} as const

export const WRITE_STEP_UP_MEMBERS = {
  write_require_acr: level('The same as require_acr, for writing.'),
  write_require_age: age('The same as require_age, for writing.'),
} as const

export interface DeclaredStepUp {
  readonly require_acr?: number | undefined
  readonly require_age?: number | undefined
  readonly write_require_acr?: number | undefined
  readonly write_require_age?: number | undefined
}

/** Undefined if nothing is demanded. The declaration has no faults. */
export function stepUpTarget(declared: DeclaredStepUp): StepUpRules | undefined {
  const read = readStepUpNeed(findLevel(declared.require_acr), declared.require_age)
  const write = readStepUpNeed(findLevel(declared.write_require_acr), declared.write_require_age)
  if (read === undefined && write === undefined) return undefined
  return { ...(read && { read }), ...(write && { write }) }
}

function findLevel(declared: number | undefined): AcrLevel | undefined {
  return ACR_LEVELS.find((known) => known === declared)
}

/** Only the members that demand something. */
export function declaredStepUp(rules: StepUpRules | undefined): DeclaredStepUp {
  const { read, write } = rules ?? {}
  return {
    ...(read?.acr !== undefined && { require_acr: read.acr }),
    ...(read?.age !== undefined && { require_age: read.age }),
    ...(write?.acr !== undefined && { write_require_acr: write.acr }),
    ...(write?.age !== undefined && { write_require_age: write.age }),
  }
}
