/** Validates a value against the schema of the declarative file. */
import type { AnySection } from '../resources/define-resource.ts'
import { type Fault, findFaults } from '../schema/check-schema.ts'
import { type Declaration, FILE, fileSchema } from './shape.ts'

export type Checked = { readonly declaration: Declaration } | { readonly faults: readonly Fault[] }

export function checkShape(value: unknown, resources?: readonly AnySection[]): Checked {
  const faults = findFaults(value, resources === undefined ? FILE : fileSchema(resources))
  return faults.length === 0 ? { declaration: value as Declaration } : { faults }
}
