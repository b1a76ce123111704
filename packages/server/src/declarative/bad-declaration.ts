/** The error for an invalid declarative file: all faults, each with the path of its value. */
import type { Fault } from '../schema/check-schema.ts'

/** The message has one line per fault. */
export class BadDeclaration extends Error {
  override name = 'BadDeclaration'
  readonly faults: readonly Fault[]

  constructor(source: string, faults: readonly Fault[]) {
    super(describe(source, faults))
    this.faults = faults
  }
}

const MOST_SHOWN = 20

function describe(source: string, faults: readonly Fault[]): string {
  const lines = faults
    .slice(0, MOST_SHOWN)
    .map(({ path, text }) => `${source}: ${path === '' ? '' : `${path}: `}${text}`)
  if (faults.length > MOST_SHOWN) lines.push(`… and ${faults.length - MOST_SHOWN} more`)
  return lines.join('\n')
}
