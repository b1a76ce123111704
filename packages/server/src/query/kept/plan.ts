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
  type IqlType,
  type TableSource,
  walkQuery,
  zoneIndex,
} from 'gatehouse-iql'
import { unrestrictedCatalogue } from '../catalogue/create-view.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { parseView } from '../catalogue/table-view.ts'
import type { Bindable, EmittedSql, PlanParameter } from '../engines/emit/parameters.ts'
import { boundParameter } from '../engines/emit/parameters.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import type { Engine } from '../engines/engine.ts'
import type { KeptPlan, KeptSlot, KeptStatement } from '../engines/kept-reads.ts'
import { findZone } from '../zones/zone-file.ts'
import { bucketRange } from './bucket-range.ts'

type PlanEngine = Pick<Engine, 'dialect' | 'finish' | 'bind'>

/** `definitions` are all tables, by name in lower case. */
export function planKept(
  view: TableDefinition,
  definitions: ReadonlyMap<string, TableDefinition>,
  engine: PlanEngine,
): KeptPlan {
  if (view.kept === undefined) throw new Error(`${view.name} is no materialized view`)
  const { query, select, source } = bindStored(view.name, view.kept.text, definitions)
  const keys = select.latest?.partitionBy ?? select.groupBy
  const emit = (part: BoundQuery, statement?: BoundQuery): KeptStatement =>
    toStatement(emitPart(part, engine, statement), engine)
  const touched = (changedOnly: NonNullable<TableSource['changedOnly']>): KeptStatement =>
    emit(touchedGroups(query, select, { ...source, changedOnly }, keys))
  const one = { ...query, body: restricted(select, keys) }
  const columns = view.columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
  return {
    view: view.name,
    base: source.table.name,
    baseColumns: source.table.columns.map(({ name }) => name),
    columns,
    keys: view.primaryKey.map((name) => view.columns.findIndex((column) => column.name === name)),
    touched: [touched('as they are'), touched('before each change')],
    group: emit(one, one),
    whole: emit(query, query),
    zones: digestZones(query),
  }
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

function emitPart(query: BoundQuery, { dialect, finish }: PlanEngine, statement: BoundQuery | undefined): EmittedSql {
  const emission = createEmission(dialect, { statement })
  return finish(emission.placeholders, emitQuery(query, emission))
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

/** The rows of one group: its values are the parameters. A bucket is also a range of its column, which an index finds. */
function restricted(select: BoundSelect, keys: readonly BoundExpression[]): BoundSelect {
  const conditions = keys.flatMap((key, index): BoundExpression[] => {
    const value: BoundExpression = { kind: 'parameter', index, type: key.type, nullable: false }
    return [...bucketRange(key, value), compared(key, '=', value)]
  })
  return { ...select, where: combineConditions(select.where, ...conditions) }
}

function compared(left: BoundExpression, operator: '=', right: BoundExpression): BoundExpression {
  return { kind: 'compare', operator, left, right, type: { kind: 'Boolean' }, nullable: left.nullable }
}

/** Each value is known, but the position of the table and the values of the group. */
function toStatement({ sql, parameters, shared }: EmittedSql, engine: PlanEngine): KeptStatement {
  const slot = (parameter: PlanParameter): KeptSlot => toSlot(parameter, engine)
  return {
    sql,
    parameters: parameters.map(slot),
    shared: shared === undefined ? [] : Array.from(shared, ([name, parameter]) => [name, slot(parameter)] as const),
  }
}

function toSlot(parameter: PlanParameter, { bind: write }: PlanEngine): KeptSlot {
  const { source } = parameter
  if (source.kind === 'since') return { kind: 'position' }
  if (source.kind === 'parameter') return { kind: 'group', index: source.index }
  const value: Bindable = boundParameter(parameter, NO_VALUES, (given, type: IqlType) => write(given, type))
  return { kind: 'value', value }
}

const NO_VALUES = {
  parameters: [],
  subject: '',
  username: undefined,
  clientId: '',
  roles: [],
  scopes: new Set<string>(),
  milliseconds: 0,
}
