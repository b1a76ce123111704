/** Arrays as parameters: `x = ANY($1)` and `x <> ALL($1)` become IN lists with a parameter for each element. */
import type { Statement } from '../syntax/ast.ts'
import type { Expression, InList } from '../syntax/ast-query.ts'
import { mapNodes } from './map-nodes.ts'

/** The names of the parameters whose values are arrays. */
export function arrayParameters(statement: Statement): ReadonlySet<string> {
  const names = new Set<string>()
  mapArrays(statement, (list, name) => {
    names.add(name)
    return list
  })
  return names
}

/** `findLength` is the number of elements of an array; null for an array that is NULL. */
export function expandArrays(statement: Statement, findLength: (name: string) => number | null): Statement {
  return mapArrays(statement, (list, name) => {
    const { operand, negated, at } = list
    const length = findLength(name)
    if (length === null) {
      const type = { name: { text: 'Boolean', at }, arguments: [] }
      return { kind: 'cast', operand: { kind: 'null', at }, type, at }
    }
    if (length === 0) return { kind: 'boolean', value: negated, at }
    const items = Array.from({ length }, (_, index): Expression => {
      return { kind: 'parameter', name: elementName(name, index), at }
    })
    return { kind: 'in-list', operand, negated, items, at }
  })
}

/** The name of the parameter for an element, from 0. No statement can contain it. */
export function elementName(name: string, index: number): string {
  return `${name}[${index + 1}]`
}

type MapArray = (list: InList, name: string) => Expression

function mapArrays(statement: Statement, map: MapArray): Statement {
  return mapNodes(statement, (node) => (isArrayList(node) ? map(node, node.array) : node))
}

function isArrayList(node: object): node is InList & { readonly array: string } {
  return 'kind' in node && node.kind === 'in-list' && 'array' in node && typeof node.array === 'string'
}
