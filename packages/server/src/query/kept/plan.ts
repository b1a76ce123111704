/**
 * The statements that keep a materialized view: which groups the changes of its table touch, and what the query is of one group. They are the
 * query of the view itself, restricted.
 */
import { createHash } from 'node:crypto'
import {
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  bind,
  combineConditions,
  MICROS_PER_DAY,
  sameName,
  type TableSource,
  walkQuery,
  zoneIndex,
} from 'gatehouse-iql'
import { bucketColumn } from '../catalogue/create-kept-view.ts'
import { unrestrictedCatalogue } from '../catalogue/create-view.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { parseView } from '../catalogue/table-view.ts'
import type { KeptEngine, KeptPlan, KeptQueries } from '../engines/kept-engine.ts'
import type { KeptRow } from '../engines/kept-states.ts'
import { findZone } from '../zones/zone-file.ts'
import { bucketRange } from './bucket-range.ts'
import { readCuts } from './cuts.ts'

/** `definitions` are all tables, by name in lower case. */
export function planKept(
  view: TableDefinition,
  definitions: ReadonlyMap<string, TableDefinition>,
  engine: Pick<KeptEngine, 'emit'>,
  row: Pick<KeptRow, 'cuts' | 'horizon'>,
): KeptPlan {
  if (view.kept === undefined) throw new Error(`${view.name} is no materialized view`)
  const { query, select, source } = bindStored(view.name, view.kept.text, definitions)
  const keys = select.latest?.partitionBy ?? select.groupBy
  const times = findTimes(keys, source)
  const ordinals = view.primaryKey.map((name) => view.columns.findIndex((column) => column.name === name))
  const bounds = findBounds(view, times, row)
  const where = combineConditions(select.where, ...[...bounds].map(([index, value]) => atLeast(keys[index], value)))
  const touched = (changedOnly: NonNullable<TableSource['changedOnly']>): BoundQuery =>
    touchedGroups(query, { ...select, where }, { ...source, changedOnly }, keys)
  const plan = {
    view: view.name,
    base: source.table.name,
    baseColumns: source.table.columns.map(({ name }) => name),
    columns: view.columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
    keys: ordinals,
    zones: digestZones(query),
    least: [...bounds].map(([index, value]) => ({ ordinal: ordinals[index] ?? 0, value })),
    cuts: row.cuts,
  }
  const { statements, starts } = engine.emit({
    plan,
    starts: times.map(({ index, of }) => startQuery(query, keys[index], of)),
    touched: [touched('as they are'), touched('before each change')],
    one: (value) => ({ ...query, body: restricted(select, keys, value) }),
    whole: { ...query, body: { ...select, where } },
  })
  const buckets = times.flatMap(({ index, of }, place) => {
    const start = starts[place]
    const isDate = of.type.kind === 'Date'
    return start === undefined ? [] : [{ of: of.name, column: view.primaryKey[index] ?? '', isDate, start }]
  })
  return { ...plan, buckets, statements }
}

/** A group that is a time of the table: a bucket of a Timestamp, or a Timestamp or a Date itself. */
interface TimeKey {
  readonly index: number
  readonly of: Column
}

type Column = Extract<BoundExpression, { kind: 'column' }>

/** The first of each column. */
function findTimes(keys: readonly BoundExpression[], { table }: TableSource): TimeKey[] {
  const times = keys.flatMap((key, index): TimeKey[] => {
    const of = key.kind === 'column' ? key : bucketColumn(key)
    const isTime = of?.type.kind === 'Timestamp' || (of?.type.kind === 'Date' && key.kind === 'column')
    return of !== undefined && isTime ? [{ index, of }] : []
  })
  return table.columns.flatMap(({ name }) => times.find(({ of }) => of.name === name) ?? [])
}

/** By the index of the key. */
function findBounds(
  view: TableDefinition,
  times: readonly TimeKey[],
  { cuts, horizon }: Pick<KeptRow, 'cuts' | 'horizon'>,
): ReadonlyMap<number, bigint> {
  const bounds = new Map<number, bigint>()
  const known = readCuts(cuts)
  for (const { index, of } of times) {
    const isOwn = horizon !== undefined && sameName(horizon.column, view.primaryKey[index] ?? '')
    const all = [...(isOwn ? [horizon.time] : []), ...(known.get(of.name) ?? [])]
    const least = all.reduce<bigint | undefined>(
      (most, time) => (most === undefined || time > most ? time : most),
      undefined,
    )
    if (least !== undefined) bounds.set(index, of.type.kind === 'Date' ? least / MICROS_PER_DAY : least)
  }
  return bounds
}

function atLeast(key: BoundExpression | undefined, value: bigint): BoundExpression {
  if (key === undefined) throw new Error('A bound of no group')
  const right: BoundExpression = { kind: 'literal', value, type: key.type, nullable: false }
  return { kind: 'compare', operator: '>=', left: key, right, type: { kind: 'Boolean' }, nullable: key.nullable }
}

/** The start of the group, for a time that is the parameter. */
function startQuery(query: BoundQuery, key: BoundExpression | undefined, { type }: Column): BoundQuery {
  const time: BoundExpression = { kind: 'parameter', index: 0, type, nullable: false }
  if (key === undefined) throw new Error('A start of no group')
  const expression =
    key.kind === 'call'
      ? { ...key, arguments: key.arguments.map((part) => (part.kind === 'literal' ? part : time)) }
      : time
  const columns = [{ name: 'start', type: key.type, nullable: false }]
  const body: BoundSelect = {
    kind: 'select',
    distinct: false,
    outputs: [{ name: 'start', expression }],
    from: undefined,
    where: undefined,
    grouped: false,
    groupBy: [],
    having: undefined,
    columns,
  }
  return { ...query, body, columns }
}

/** Zones change with their governments, and so do the buckets of rows that are there. */
function digestZones(query: BoundQuery): string | undefined {
  const names = new Set<string>()
  for (const part of walkQuery(query)) {
    if (part.kind !== 'expression' || part.expression.kind !== 'call') continue
    const zone = part.expression.arguments[zoneIndex(part.expression.function)]
    if (zone?.kind === 'literal' && typeof zone.value === 'string') names.add(zone.value)
  }
  if (names.size === 0) return undefined
  const data = [...names].sort().map((name) => `${name} ${findZone(name)?.transitions} ${findZone(name)?.offsets}`)
  return createHash('sha256').update(data.join()).digest('hex').slice(0, 16)
}

interface Stored {
  readonly query: BoundQuery
  readonly select: BoundSelect
  readonly source: TableSource
}

function bindStored(name: string, text: string, definitions: ReadonlyMap<string, TableDefinition>): Stored {
  const { statement } = bind(parseView(text), text, unrestrictedCatalogue(definitions), undefined, { anyNames: true })
  if (statement.kind !== 'query' || statement.body.kind !== 'select' || statement.body.from?.kind !== 'table')
    throw new Error(`The query of ${name} does not read one table`)
  return { query: statement, select: statement.body, source: statement.body.from }
}

/** The groups that changed rows belong to, or belonged to. */
function touchedGroups(
  query: BoundQuery,
  { where }: BoundSelect,
  from: TableSource,
  keys: readonly BoundExpression[],
): BoundQuery {
  const outputs = keys.map((expression, index) => ({ name: `g${index}`, expression }))
  const columns = keys.map(({ type, nullable }, index) => ({ name: `g${index}`, type, nullable }))
  const body: BoundSelect = {
    kind: 'select',
    distinct: true,
    outputs,
    from,
    where,
    grouped: false,
    groupBy: [],
    having: undefined,
    columns,
  }
  return { ...query, body, columns }
}

/** The rows of one group. A bucket is also a range of its column, which an index finds. */
function restricted(
  select: BoundSelect,
  keys: readonly BoundExpression[],
  findValue: Parameters<KeptQueries['one']>[0],
): BoundSelect {
  const conditions = keys.flatMap((key, index): BoundExpression[] => {
    const value = findValue(index, key)
    return [...bucketRange(key, value), compared(key, '=', value)]
  })
  return { ...select, where: combineConditions(select.where, ...conditions) }
}

function compared(left: BoundExpression, operator: '=', right: BoundExpression): BoundExpression {
  return { kind: 'compare', operator, left, right, type: { kind: 'Boolean' }, nullable: left.nullable }
}
