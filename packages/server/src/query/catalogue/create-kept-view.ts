/** Definitions of materialized views: what a bound CREATE MATERIALIZED VIEW becomes, and what else it needs. */
import {
  type BoundExpression,
  bind,
  type CatalogueView,
  type CreateKeptView,
  directOperands,
  printName,
  type Query,
  refuse as refuseStatement,
  sameName,
} from 'gatehouse-iql'
import { refuse } from '../errors.ts'
import { refuseReserved } from './create-table.ts'
import type { KeptKeyDefinition, TableDefinition } from './definition.ts'
import { findHidden, findRowFilter } from './kept-filter.ts'
import { toRetention } from './retention.ts'
import { toRules } from './step-up.ts'

/** A view of a view of a view of a view of a table. */
const MAX_LEVELS = 4
const MAX_VIEWS = 200

/** Tables and views by name in lower case. */
export type Definitions = ReadonlyMap<string, TableDefinition>

export function toKeptView(
  statement: CreateKeptView,
  rest: Pick<TableDefinition, 'readScope' | 'stepUp' | 'description' | 'created' | 'retention'>,
): TableDefinition {
  const { name, columns, keys, text, base, isColumnar } = statement
  refuseReserved(name)
  const isKey = (column: string): boolean => keys.some((key) => key.column === column)
  const { readScope, stepUp, description, created, retention } = rest
  return {
    name,
    columns: columns.map(({ name, type, nullable }) => {
      return { name, type, nullable: nullable && !isKey(name), default: undefined }
    }),
    primaryKey: keys.map(({ column }) => column),
    uniques: [],
    indexes: [],
    writeScope: undefined,
    rowFilter: undefined,
    isLive: true,
    ...(isColumnar ? { isColumnar: true } : {}),
    kept: { text, uses: [base.name], logged: statement.logged, keys: keys.map(toKey) },
    keptState: { state: 'building', progress: 0, isBuilt: false, hasCut: false, error: '' },
    readScope,
    stepUp,
    description,
    created,
    retention,
  }
}

export function createKeptView(
  statement: CreateKeptView,
  definitions: Definitions,
  text: string,
  now: bigint,
  retention = statement.retention && toRetention(statement.retention),
): TableDefinition {
  const view = toKeptView(statement, {
    readScope: statement.readScope,
    stepUp: toRules(statement.readNeed, undefined),
    description: statement.comment,
    created: now,
    retention,
  })
  const fault = findFault(view, definitions)
  if (fault !== undefined)
    throw refuseStatement('BadDefinition', fault.text, { statement: text, at: statement.queryAt, hint: fault.hint })
  return withRetentionIndex(view, definitions)
}

/** Its old rows are found by the column of its retention, which mostly is not the first group. */
function withRetentionIndex(view: TableDefinition, definitions: Definitions): TableDefinition {
  const { name, primaryKey, retention } = view
  if (retention === undefined || primaryKey[0] === retention.on) return view
  const taken = new Set(
    [...definitions.values()].flatMap(({ indexes }) => indexes.map((index) => index.name.toLowerCase())),
  )
  const first = `${name}_${retention.on}`.slice(0, 50)
  let free = first
  for (let count = 2; taken.has(free.toLowerCase()); count++) free = `${first}_${count}`
  const index = { name: free, columns: [{ name: retention.on, descending: false }], unique: false }
  return { ...view, indexes: [index] }
}

/** Binds a stored definition again, as its CREATE MATERIALIZED VIEW was. */
export function bindKeptView(
  { name, columns, text, query }: { name: string; columns: readonly string[]; text: string; query: Query },
  catalogue: CatalogueView,
): CreateKeptView {
  const at = 0
  const none = {
    readNeed: undefined,
    comment: undefined,
    columnar: undefined,
    readScope: undefined,
    retention: undefined,
  }
  const written = {
    kind: 'create-kept-view',
    ifNotExists: true,
    name: { text: name, at },
    columns: columns.map((column) => ({ text: column, at })),
    changes: none,
    query,
    at,
  } as const
  const { statement } = bind(written, text, catalogue)
  if (statement.kind !== 'create-kept-view') throw new Error(`Not a materialized view: ${statement.kind}`)
  return statement
}

export interface Fault {
  readonly text: string
  readonly hint: string
}

/** What a view lacks that does not depend on its query alone: an index, room, a row filter that its rows can be told by. */
export function findFault(view: TableDefinition, definitions: Definitions): Fault | undefined {
  const base = definitions.get(view.kept?.uses[0].toLowerCase() ?? '')
  if (base === undefined || view.kept === undefined) return undefined
  const { keys } = view.kept
  const views = [...definitions.values()].filter(({ kept, name }) => kept !== undefined && name !== view.name)
  if (views.length >= MAX_VIEWS)
    return { text: `There can be ${MAX_VIEWS} materialized views`, hint: 'drop one of them first' }
  if (countLevels(base, definitions) >= MAX_LEVELS)
    return {
      text: `Materialized views read one another over ${MAX_LEVELS} levels at most`,
      hint: 'read a view that is closer to the table',
    }
  const filter = findRowFilter(base, definitions)
  const hidden = filter === undefined ? undefined : findHidden(filter, keys)
  if (hidden !== undefined)
    return {
      text: `The row filter of ${base.name} uses ${hidden}, by which the rows of the view could not be told apart`,
      hint: `add ${hidden} to SELECT and GROUP BY`,
    }
  return findIndexed(base, keys) ? undefined : lacksIndex(base, keys)
}

function countLevels({ kept }: TableDefinition, definitions: Definitions): number {
  const base = kept && definitions.get(kept.uses[0].toLowerCase())
  return base === undefined ? 0 : 1 + countLevels(base, definitions)
}

/** Otherwise each change would read the whole table. */
function findIndexed({ indexes, primaryKey, uniques }: TableDefinition, keys: readonly KeptKeyDefinition[]): boolean {
  const all = [primaryKey, ...uniques, ...indexes.map(({ columns }) => columns.map(({ name }) => name))]
  return all.some(
    ([first]) => first !== undefined && keys.some((key) => sameName(first, key.base ?? key.bucketOf ?? '')),
  )
}

function lacksIndex(base: TableDefinition, keys: readonly KeptKeyDefinition[]): Fault {
  const plain = keys.flatMap((key) => key.base ?? [])
  const columns = [...plain, ...keys.flatMap(({ bucketOf }) => bucketOf ?? [])]
  const text = `No index of ${base.name} begins with a group of the view`
  if (columns.length === 0) return { text, hint: 'group by a column, or by a time bucket of one' }
  const name = `${base.name}_${columns.join('_')}`.slice(0, 50)
  const list = [...new Set(columns)].map((column) => printName({ text: column, at: 0 })).join(', ')
  return {
    text,
    hint: `write CREATE INDEX ${printName({ text: name, at: 0 })} ON ${printName({ text: base.name, at: 0 })} (${list})`,
  }
}

function toKey({ column, expression }: CreateKeptView['keys'][number]): KeptKeyDefinition {
  if (expression.kind === 'column') return { column, base: expression.name }
  const bucket = bucketColumn(expression)
  return bucket === undefined ? { column } : { column, bucketOf: bucket.name }
}

const BUCKETS: ReadonlySet<string> = new Set([
  'time_bucket',
  'time_bucket_months',
  'time_bucket_zone',
  'time_bucket_months_zone',
  'date_trunc',
  'date_trunc_zone',
])

/** The column that a time bucket is of. */
export function bucketColumn(expression: BoundExpression): Extract<BoundExpression, { kind: 'column' }> | undefined {
  if (expression.kind !== 'call' || !BUCKETS.has(expression.function)) return undefined
  const columns = directOperands(expression).filter((operand) => operand.kind !== 'literal')
  const [column] = columns
  return columns.length === 1 && column?.kind === 'column' ? column : undefined
}

/** Refuses what would leave a view without its index, its log, or the rights of its rows. */
export function refuseBrokenKept(view: TableDefinition, definitions: Definitions, changed: string): void {
  const fault = findFault(view, definitions)
  if (fault === undefined) return
  throw refuse('Data.InUse', `${changed} is used by the materialized view ${view.name}: ${fault.text}`, {
    members: { Views: [view.name], Hint: `${fault.hint}, or drop the view first` },
  })
}
