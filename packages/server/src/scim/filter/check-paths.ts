/** Refuses filters over attributes that do not exist: they would silently find nobody. */
import { badRequest } from '../scim-error.ts'
import type { AttributePath, Filter } from './ast.ts'

export function checkPaths(filter: Filter, isKnown: (path: AttributePath) => boolean): void {
  for (const path of filterPaths(filter)) {
    const { urn, name, sub } = path
    const text = `${urn === undefined ? '' : `${urn}:`}${name}${sub === undefined ? '' : `.${sub}`}`
    if (!isKnown(path)) throw badRequest('invalidFilter', `There is no attribute ${text}`)
  }
}

/** Those of the resource; what is inside of brackets names parts of a value. */
export function filterPaths(filter: Filter): AttributePath[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.flatMap(filterPaths)
    case 'not':
      return filterPaths(filter.part)
    default:
      return [filter.path]
  }
}
