/** Emits the lists of IN: of values, and of the rows of a query. */
import {
  type InList,
  type InQuery,
  type IqlValue,
  isWide,
  type Literal,
  MAX_LIST_BYTES,
  type Parameter,
  type TypeKind,
} from 'gatehouse-iql'
import type { Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { itemKey } from './parameter-source.ts'

/** Longer lists are passed as one parameter, so that the SQL stays short and quick to prepare. */
export const MAX_SINGLE_ITEMS = 100

interface ListedInList extends InList {
  readonly items: readonly (Literal | Parameter)[]
}

/** Whether all items are literals and parameters of a type that is stored as a short integer or a text. */
export function isListable(node: InList, { autoParameters }: Emission): node is ListedInList {
  const { type } = node.operand
  if (!LISTED_KINDS.has(type.kind) || isWide(type)) return false
  return node.items.every((item) => {
    if (item.kind !== 'literal') return item.kind === 'parameter'
    return item.written === undefined || !autoParameters.has(item.written.index)
  })
}

const LISTED_KINDS: ReadonlySet<TypeKind> = new Set(['Text', 'Integer', 'Decimal', 'Timestamp', 'Date', 'Time', 'Uuid'])

/** A parameter that occurs as several items is one item: otherwise the list would hold its text several times. */
export function emitLongList({ operand, items: written, negated }: ListedInList, emission: Emission): Sql {
  const { dialect, placeholders } = emission
  const { type } = operand
  const sql = emitExpression(operand, emission)
  const write = (values: readonly IqlValue[]): string => dialect.list(values, type)
  const literals = written.filter((item) => item.kind === 'literal')
  if (literals.length === written.length) {
    const text = write(literals.map(({ value }) => value))
    return dialect.inList(sql, placeholders.of({ kind: 'literal-list', text }, type), type, negated)
  }
  const items = [...new Map(written.map((item) => [itemKey(item), item])).values()]
  return dialect.inList(sql, placeholders.of({ kind: 'list', items, write }, type), type, negated)
}

/** The rows of a query, with a limit where the database holds them as a list. */
export function emitListed(node: InQuery, { weight, dialect, subquery }: Emission): Sql {
  const query = subquery(node.query)
  if (dialect.listFits === undefined || weight()?.joined.has(node) !== false) return query
  return dialect.listFits(query, node.operand.type, MAX_LIST_BYTES)
}
