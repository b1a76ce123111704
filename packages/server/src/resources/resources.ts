/** The kinds of resources by their sections in the declarative file: what is created first comes first. */
import { APIS } from './apis.ts'
import { ATTRIBUTES } from './attributes.ts'
import type { AnyResource } from './define-resource.ts'

export const RESOURCES = {
  apis: APIS,
  attributes: ATTRIBUTES,
} as const satisfies Readonly<Record<string, AnyResource>>

export function listResources(): readonly AnyResource[] {
  return Object.values(RESOURCES)
}
