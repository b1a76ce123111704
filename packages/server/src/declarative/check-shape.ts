/** Validates a value against the schema of the declarative file. */
import { type Fault, findFaults } from '../schema/check-schema.ts'
import { DECLARATION, type Declaration, PATTERNS } from './shape.ts'

export type Checked = { readonly declaration: Declaration } | { readonly faults: readonly Fault[] }

export function checkShape(value: unknown): Checked {
  const faults = findFaults(value, { schema: DECLARATION, patterns: PATTERNS })
  return faults.length === 0 ? { declaration: value as Declaration } : { faults }
}
