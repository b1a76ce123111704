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
  type TableSource,
  walkQuery,
  zoneIndex,
} from 'gatehouse-iql'
import { unrestrictedCatalogue } from '../catalogue/create-view.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { parseView } from '../catalogue/table-view.ts'
import type { KeptEngine, KeptPlan, KeptQueries } from '../engines/kept-engine.ts'
import { findZone } from '../zones/zone-file.ts'
import { bucketRange } from './bucket-range.ts'

/** `definitions` are all tables, by name in lower case. */
export function planKept(
  view: TableDefinition,
  definitions: ReadonlyMap<string, TableDefinition>,
  engine: Pick<KeptEngine, 'emit'>,
): KeptPlan {
  if (view.kept === undefined) throw new Error(`${view.name} is no materialized view`)
  const { query, select, source } = bindStored(view.name, view.kept.text, definitions)
  const keys = select.latest?.partitionBy ?? select.groupBy
  const touched = (changedOnly: NonNullable<TableSource['changedOnly']>): BoundQuery =>
    touchedGroups(query, select, { ...source, changedOnly }, keys)
  const plan = {
    view: view.name,
    base: source.table.name,
    baseColumns: source.table.columns.map(({ name }) => name),
    columns: view.columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
    keys: view.primaryKey.map((name) => view.columns.findIndex((column) => column.name === name)),
    zones: digestZones(query),
  }
  const statements = engine.emit({
    plan,
    touched: [touched('as they are'), touched('before each change')],
    one: (value) => ({ ...query, body: restricted(select, keys, value) }),
    whole: query,
  })
  return { ...plan, statements }
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
