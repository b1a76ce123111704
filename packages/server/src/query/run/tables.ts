/** Tables for the rest of the program, which acts without a caller's rights: the declarative file, the demonstration data. */

import {
  bind,
  buildInsert,
  type CatalogueView,
  type IqlValue,
  NO_TABLES,
  parse,
  printExpression,
  type TableView,
} from 'gatehouse-iql'
import type { Audit, Clock } from 'gatehouse-protocol'
import { altered } from '../catalogue/change.ts'
import { bindViews, type ViewSpec } from '../catalogue/declared-views.ts'
import type { CatalogueChange, CheckDefinition } from '../catalogue/definition.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import {
  changesFor,
  createTableChecks,
  define,
  readRow,
  type TableChecks,
  type TableSpec,
  type TextRow,
  withColumns,
} from '../catalogue/table-checks.ts'
import { type Bindable, bindParameters, type RunValues } from '../engines/emit/parameters.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import { emitInsert } from '../engines/emit/write.ts'
import type { ConstraintText, Engine, WriteStep } from '../engines/engine.ts'
import { checkError } from '../engines/runtime-error.ts'
import { refuse } from '../errors.ts'
import type { KeptViews } from '../kept/kept-views.ts'
import { MOST_COUNTED, previewRetention } from '../retention/preview.ts'
import { evaluateAnew, recordFileChange } from './define.ts'
import type { NodeCatalogue } from './node-catalogue.ts'
import { readRows } from './read-rows.ts'

export interface Tables extends TableChecks {
  /** Creates the table with its rows, or neither. The first row holds the column names. */
  create(table: TableSpec, rows?: AsyncIterable<TextRow> | Iterable<TextRow>): Promise<void>
  /** Changes the description, the scopes, the row filter and whether it is live, and adds new columns. */
  change(table: TableSpec): Promise<void>
  /** The rows that the retention of the table, as it would be, deletes; counted up to a million. */
  countDeleted(table: TableSpec): Promise<number>
  /** Counted up to a million. */
  countRows(name: string): Promise<number>
  drop(name: string): Promise<void>
  /** Creates or replaces views and drops others, all or none. */
  changeViews(views: readonly ViewSpec[], dropped: readonly string[]): Promise<void>
  /** Resolves when this node uses the attributes as they are declared now. */
  refresh(): Promise<void>
  /** Returns the number of rows. Each batch is one transaction. */
  insert(name: string, columns: readonly string[], rows: AsyncIterable<TextRow> | Iterable<TextRow>): Promise<number>
}

export interface TablesEnv {
  readonly engine: Engine
  readonly catalogue: NodeCatalogue
  readonly clock: Clock
  readonly audit: Audit
  readonly kept: Pick<KeptViews, 'requireUpgraded' | 'findViews' | 'askAnew'>
}

/** Rows per statement, and statements per transaction. */
const STATEMENT_ROWS = 50
const BATCH_STATEMENTS = 20

export function createTables(env: TablesEnv): Tables {
  const { catalogue } = env
  const tables: Tables = {
    ...createTableChecks(() => catalogue.snapshot, env.clock),
    async create(table, rows) {
      await changeAll([{ kind: 'create', table: define(table, catalogue.snapshot.attributes, env.clock) }], env)
      if (rows === undefined) return
      try {
        const named = await withColumns(rows)
        if (named !== undefined) await insert(table.name, named.columns, named.rows, env)
      } catch (error) {
        await tables.drop(table.name)
        throw error
      }
    },
    async change(table) {
      const changes = changesFor(table, catalogue.snapshot, catalogue.snapshot.attributes, env.clock)
      const known = catalogue.snapshot.findDefinition(table.name)?.checks ?? []
      await changeAll(changes, env)
      await refuseViolations(table.name, known, env)
    },
    async countDeleted({ name, retention, hold }) {
      const current = catalogue.snapshot.findDefinition(name)
      const column = current?.columns.find((known) => known.name === retention?.on)
      if (current === undefined || column === undefined) return 0
      return (await previewRetention({ ...current, retention, isHeld: hold }, env.engine.retention, env.kept.findViews))
        .rows
    },
    async countRows(name) {
      const table = catalogue.snapshot.findDefinition(name)
      return table === undefined ? 0 : env.engine.retention.count(table, MOST_COUNTED)
    },
    async drop(name) {
      await catalogue.change([{ change: { kind: 'drop', name, isView: false }, fill: null }])
    },
    async changeViews(views, dropped) {
      const wanted = { tables: [], views, droppedTables: [], droppedViews: dropped }
      const { changes, faults } = bindViews(wanted, catalogue.snapshot, env.clock)
      if (views.some(({ materialized }) => materialized)) await env.kept.requireUpgraded()
      if (faults[0] !== undefined) throw refuse('Data.Conflict', `${faults[0].path}: ${faults[0].text}`)
      await changeAll(changes, env)
      for (const change of changes) await evaluateAnew(change, env)
    },
    insert: (name, columns, rows) => insert(name, columns, rows, env),
    refresh: () => catalogue.refresh(),
  }
  return tables
}

async function changeAll(changes: readonly CatalogueChange[], { catalogue, audit }: TablesEnv): Promise<void> {
  await catalogue.change(changes.map((change) => ({ change, fill: null })))
  for (const change of changes) recordFileChange(audit, change)
}

/** A check that existing rows do not meet is removed again. */
async function refuseViolations(name: string, known: readonly CheckDefinition[], env: TablesEnv): Promise<void> {
  const { catalogue, engine } = env
  const table = catalogue.snapshot.findDefinition(name)
  for (const check of table?.checks ?? []) {
    if (known.some((other) => other.name === check.name && other.condition === check.condition)) continue
    const text = `ALTER TABLE "${name.replaceAll('"', '""')}" ADD CHECK (${check.condition})`
    const { statement } = bind(parse(text), text, unrestrictedView(catalogue.snapshot))
    if (statement.kind !== 'add-check' || table === undefined) throw new Error(`Not a check: ${statement.kind}`)
    const emission = createEmission(engine.dialect)
    const emitted = engine.finish(emission.placeholders, emitQuery(statement.violation, emission))
    const parameters = bindParameters(emitted, { ...NO_CALLER, milliseconds: env.clock(), parameters: [] }, engine.bind)
    const { columns } = statement.violation
    const request = {
      sql: emitted.sql,
      parameters,
      columns,
      cost: 'unbounded',
      owner: '',
      running: UNSTOPPABLE,
    } as const
    if ((await readRows(engine, request)).length === 0) continue
    const change = altered(table, { ...table, checks: known }, { kind: 'rights' })
    await catalogue.change([{ change, fill: null }])
    throw checkError(check.name, check.condition)
  }
}

async function insert(
  name: string,
  columns: readonly string[],
  rows: AsyncIterable<TextRow> | Iterable<TextRow>,
  env: TablesEnv,
): Promise<number> {
  const table = env.catalogue.snapshot.table(name)
  if (table === undefined) throw refuse('Data.UnknownTable', `There is no table ${name}`)
  let total = 0
  let batch: IqlValue[][] = []
  const send = async (): Promise<void> => {
    if (batch.length === 0) return
    await env.engine.write({
      owner: undefined,
      tables: [table],
      steps: insertSteps(table, columns, batch, env).map((step) => ({ ...step, constraints: constraintTexts(table) })),
      returning: [],
      tracksRows: false,
      isShort: true,
      rowLimit: 0,
      mustBeWhole: false,
      running: UNSTOPPABLE,
      idempotencyKey: undefined,
    })
    total += batch.length
    batch = []
  }
  for await (const row of rows) {
    batch.push(readRow(table, columns, row, total + batch.length + 1))
    if (batch.length >= STATEMENT_ROWS * BATCH_STATEMENTS) await send()
  }
  await send()
  return total
}

function constraintTexts({ checks = [] }: TableView): readonly ConstraintText[] | undefined {
  if (checks.length === 0) return undefined
  return checks.map(({ name, condition }) => ({ name, text: printExpression(condition) }))
}

const UNSTOPPABLE = new AbortController()

/** Statements of STATEMENT_ROWS rows, and one for the rest. */
function insertSteps(
  table: TableView,
  columns: readonly string[],
  rows: readonly IqlValue[][],
  env: TablesEnv,
): WriteStep[] {
  const full = Math.floor(rows.length / STATEMENT_ROWS)
  const steps: WriteStep[] = []
  if (full > 0) {
    const groups = Array.from({ length: full }, (_item, index) =>
      rows.slice(index * STATEMENT_ROWS, (index + 1) * STATEMENT_ROWS),
    )
    steps.push(insertStep(table, columns, STATEMENT_ROWS, groups, env))
  }
  const rest = rows.slice(full * STATEMENT_ROWS)
  if (rest.length > 0) steps.push(insertStep(table, columns, rest.length, [rest], env))
  return steps
}

function insertStep(
  table: TableView,
  columns: readonly string[],
  count: number,
  groups: readonly (readonly IqlValue[][])[],
  env: TablesEnv,
): WriteStep {
  const { engine, catalogue } = env
  const { snapshot } = catalogue
  const bound = bind(buildInsert(table.name, columns, count, []), '', unrestrictedView(snapshot))
  if (bound.statement.kind !== 'insert') throw new Error(`Not an INSERT: ${bound.statement.kind}`)
  const emission = createEmission(engine.dialect)
  const emitted = engine.finish(
    emission.placeholders,
    emitInsert({ ...bound.statement, check: undefined }, emission, snapshot, true),
  )
  const bindAll = (rows: readonly IqlValue[][]): Bindable[] =>
    bindParameters(emitted, { ...NO_CALLER, milliseconds: env.clock(), parameters: rows.flat() }, engine.bind)
  return { sql: emitted.sql, parameterSets: groups.map(bindAll) }
}

const NO_CALLER: Omit<RunValues, 'parameters' | 'milliseconds'> = {
  subject: '',
  username: undefined,
  clientId: '',
  roles: [],
  scopes: new Set(),
}

/** Every table, with every right. */
function unrestrictedView(snapshot: CatalogueSnapshot): CatalogueView {
  return {
    ...NO_TABLES,
    lookup: (name) => snapshot.table(name),
    lookupIndex: (name) => snapshot.index(name),
    attributes: snapshot.attributes,
  }
}
