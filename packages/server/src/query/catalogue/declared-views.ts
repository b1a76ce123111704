/** Views that the program defines itself, from the declarative file: bound against the catalogue as it will be. Nothing is written. */

import { type CatalogueView, type Position, parse, type Query, refuse, type TableView, typeName } from 'gatehouse-iql'
import { type Clock, Refusal, type StepUpRules } from 'gatehouse-protocol'
import { altered } from './change.ts'
import { bindKeptView, createKeptView } from './create-kept-view.ts'
import { bindView, toViewDefinition, unrestrictedCatalogue } from './create-view.ts'
import type { CatalogueChange, RetentionDefinition, TableDefinition } from './definition.ts'
import type { CatalogueSnapshot } from './snapshot.ts'
import { systemDefinitions } from './system-tables.ts'
import { ViewGuard } from './view-guard.ts'

export interface ViewSpec {
  readonly name: string
  readonly description: string
  readonly readScope: string | null
  /** Names; empty: those of the query. */
  readonly columns: readonly string[]
  /** As IQL text. */
  readonly query: string
  readonly materialized?: true | undefined
  /** Of a materialized view. */
  readonly stepUp?: StepUpRules | undefined
  readonly retention?: RetentionDefinition | undefined
}

/** As it is stored: the query in canonical form, with every column. */
export interface BoundViewSpec extends ViewSpec {
  /** The types of the columns, such as `Decimal(18,4) NOT NULL`. */
  readonly types: readonly string[]
}

/** What will be changed, in this order. */
export interface ViewChanges {
  /** Tables that will be created or get columns, each with the changes that do so. */
  readonly tables: readonly (readonly CatalogueChange[])[]
  readonly views: readonly ViewSpec[]
  /** Names of views, and of tables, that will be dropped. */
  readonly droppedViews: readonly string[]
  readonly droppedTables: readonly string[]
}

export interface BoundViews {
  /** Each after those that it uses. */
  readonly views: readonly BoundViewSpec[]
  /** Creates, replaces and drops views; make these changes together. */
  readonly changes: readonly CatalogueChange[]
  /** By path in the changes: `views[0].query`. */
  readonly faults: readonly ViewFault[]
}

export interface ViewFault {
  readonly path: string
  readonly text: string
}

export function bindViews(wanted: ViewChanges, snapshot: CatalogueSnapshot, clock: Clock): BoundViews {
  const binder = new ViewBinder(wanted, snapshot, clock)
  for (const index of wanted.views.keys()) binder.define(index)
  const { faults, defined } = binder
  const changes = [
    ...defined.flatMap((table) => changesTo(table, snapshot.findDefinition(table.name))),
    ...wanted.droppedViews.map((name): CatalogueChange => {
      return { kind: 'drop', name, isView: snapshot.findDefinition(name)?.view !== undefined }
    }),
  ]
  return {
    views: defined.flatMap(toViewSpecs),
    changes,
    faults: faults.length > 0 ? faults : brokenViews(wanted, changes, snapshot),
  }
}

/** The rows of a materialized view stay while its query does; another query drops it, and builds another. */
function changesTo(table: TableDefinition, from: TableDefinition | undefined): CatalogueChange[] {
  if (from === undefined) return [{ kind: 'create', table }]
  if (table.kept === undefined && from.kept === undefined) return [altered(from, table, { kind: 'replace-view' })]
  if (haveSameRows(table, from)) {
    const { readScope, stepUp, description, retention } = table
    return [altered(from, { ...from, readScope, stepUp, description, retention }, { kind: 'rights' })]
  }
  return [
    { kind: 'drop', name: from.name, isView: from.view !== undefined },
    { kind: 'create', table },
  ]
}

function haveSameRows(one: TableDefinition, other: TableDefinition): boolean {
  const form = ({ kept, columns }: TableDefinition): string =>
    JSON.stringify([kept, columns.map(({ name, type, nullable }) => [name, type, nullable])])
  return form(one) === form(other)
}

/** Empty for a table. */
export function toViewSpecs({
  name,
  description,
  readScope,
  stepUp,
  columns,
  retention,
  ...definition
}: TableDefinition): BoundViewSpec[] {
  const view = definition.view ?? definition.kept
  if (view === undefined) return []
  return [
    {
      name,
      description: description ?? '',
      readScope: readScope ?? null,
      columns: columns.map((column) => column.name),
      types: columns.map(({ type, nullable }) => `${typeName(type).replaceAll(' ', '')}${nullable ? '' : ' NOT NULL'}`),
      query: view.text,
      ...(definition.kept && { materialized: true, ...(stepUp && { stepUp }), ...(retention && { retention }) }),
    },
  ]
}

/** Existing views that the changes would break. */
function brokenViews(wanted: ViewChanges, views: readonly CatalogueChange[], snapshot: CatalogueSnapshot): ViewFault[] {
  const guard = new ViewGuard(snapshot.definitions)
  const tables = wanted.droppedTables.map((name): CatalogueChange => ({ kind: 'drop', name, isView: false }))
  const steps: [path: string, changes: readonly CatalogueChange[]][] = [
    ...wanted.tables.map((changes, index): [string, readonly CatalogueChange[]] => [`tables[${index}]`, changes]),
    ['views', views],
    ['prune', tables],
  ]
  for (const [path, changes] of steps) {
    try {
      guard.accept(changes)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [{ path, text: error.message }]
    }
  }
  return []
}

class ViewBinder {
  readonly faults: ViewFault[] = []
  /** In the order in which they can be created. */
  readonly defined: TableDefinition[] = []
  readonly #views: readonly ViewSpec[]
  readonly #snapshot: CatalogueSnapshot
  readonly #now: bigint
  /** The definitions of tables and views that exist, by name in lower case. */
  readonly #definitions = new Map<string, TableDefinition>()
  readonly #indexes: ReadonlyMap<string, number>
  readonly #started = new Set<number>()
  /** The views that are being defined, each used by the one before it. */
  readonly #open: number[] = []

  constructor({ tables, views, droppedViews, droppedTables }: ViewChanges, snapshot: CatalogueSnapshot, clock: Clock) {
    this.#views = views
    this.#snapshot = snapshot
    this.#now = BigInt(clock()) * 1000n
    this.#indexes = new Map(views.map(({ name }, index) => [name.toLowerCase(), index]))
    for (const table of [...systemDefinitions(), ...snapshot.definitions]) this.#set(table)
    for (const change of tables.flat()) if (change.kind !== 'drop') this.#set(change.table)
    for (const name of [...droppedViews, ...droppedTables]) this.#definitions.delete(name.toLowerCase())
    for (const key of this.#indexes.keys()) {
      const known = snapshot.table(key)
      if (known?.view !== undefined || known?.isKept) this.#definitions.delete(key)
    }
  }

  define(index: number): void {
    const spec = this.#views[index]
    if (spec === undefined || this.#started.has(index)) return
    this.#started.add(index)
    this.#open.push(index)
    try {
      this.#define(spec)
    } catch (error) {
      if (error instanceof Refusal) this.faults.push(toFault(error, index))
      else if (!(error instanceof UsesFaultyView)) throw error
    } finally {
      this.#open.pop()
    }
  }

  #define(spec: ViewSpec): void {
    const { name, columns, query: text, readScope, description } = spec
    const from = this.#snapshot.findDefinition(name)
    if (spec.materialized) {
      this.#defineKept(spec, from)
      return
    }
    refuseLostRows(from, text)
    const statement = bindView({ name, columns, text, query: parseQuery(text) }, this.#catalogue(spec))
    const table = toViewDefinition(
      { ...statement, name: from?.name ?? name },
      {
        readScope: readScope ?? undefined,
        description: description === '' ? undefined : description,
        created: from?.created ?? this.#now,
      },
    )
    this.#set(table)
    this.defined.push(table)
  }

  #defineKept(spec: ViewSpec, from: TableDefinition | undefined): void {
    const { columns, query: text, readScope, stepUp, description, retention } = spec
    const name = from?.name ?? spec.name
    const statement = bindKeptView({ name, columns, text, query: parseQuery(text) }, this.#catalogue(spec))
    const bound = createKeptView(
      statement,
      this.#definitions,
      text,
      from?.kept === undefined ? this.#now : from.created,
      retention,
    )
    const table = {
      ...bound,
      readScope: readScope ?? undefined,
      stepUp,
      description: description === '' ? undefined : description,
    }
    if (from === undefined || !haveSameRows(table, from)) refuseLostRows(from, text)
    this.#set(table)
    this.defined.push(table)
  }

  /** A view that is used and not yet defined is defined first. */
  #catalogue(user: ViewSpec): CatalogueView {
    const catalogue = unrestrictedCatalogue(this.#definitions)
    return {
      ...catalogue,
      tableNames: () => [...this.#definitions.values()].map(({ name }) => name),
      lookup: (name) => {
        const index = this.#indexes.get(name.toLowerCase())
        const known = catalogue.lookup(name)
        if (index === undefined || known !== undefined) return known
        const start = this.#open.indexOf(index)
        if (start !== -1) {
          const names = [...this.#open.slice(start), index].map((open) => this.#views[open]?.name)
          return unfinished(name, user, `A view cannot use itself: ${names.join(' uses ')}`)
        }
        this.define(index)
        const defined = catalogue.lookup(name)
        if (defined === undefined) throw new UsesFaultyView()
        return defined
      },
    }
  }

  #set(table: TableDefinition): void {
    this.#definitions.set(table.name.toLowerCase(), table)
  }
}

/** Another query, or a view that is not materialized, has no rows that retention has deleted from the table. */
function refuseLostRows(from: TableDefinition | undefined, text: string): void {
  if (from?.kept === undefined || from.keptState?.hasCut !== true) return
  const { name } = from
  throw refuse(
    'BadDefinition',
    `${name} has rows of which its table has no more: with another query they would be lost`,
    {
      statement: text,
      at: 0,
      hint: `drop it first, with DROP MATERIALIZED VIEW ${name}`,
    },
  )
}

/** The error of the view was already reported. */
class UsesFaultyView extends Error {}

function parseQuery(text: string): Query {
  const parsed = parse(text)
  if (parsed.kind === 'query') return parsed
  throw refuse('BadDefinition', 'A view is defined by a query: SELECT …', { statement: text, at: 0 })
}

/** A view that is being defined: its name can be looked up, its query cannot be used. */
function unfinished(name: string, user: ViewSpec, text: string): TableView {
  const fail = (): never => {
    throw refuse('BadDefinition', text, { statement: user.query, at: 0 })
  }
  return {
    name,
    columns: [],
    primaryKey: [],
    uniques: [],
    rowFilter: undefined,
    isSystem: false,
    isWritable: false,
    isLive: false,
    ...(user.materialized && { isKept: true }),
    view: {
      get text() {
        return fail()
      },
      get query() {
        return fail()
      },
      get nesting() {
        return fail()
      },
    },
  }
}

/** The member of the entry, and the line and column of the query. An error at the very start is one of the definition. */
function toFault({ code, message, details }: Refusal, index: number): ViewFault {
  const { Position: position, Hint: hint } = (details.members ?? {}) as { Position?: Position; Hint?: string }
  const entry = `views[${index}]`
  if (NAME_FAULTS.has(code)) return { path: `${entry}.name`, text: message }
  const isPlaced = position !== undefined && position.Offset > 0
  if (code === 'IQL.ColumnCount' && !isPlaced) return { path: `${entry}.columns`, text: message }
  const place = isPlaced || code === 'IQL.Syntax' ? ` at line ${position?.Line}, column ${position?.Column}` : ''
  return { path: `${entry}.query`, text: `${message}${place}${hint === undefined ? '' : ` (${hint})`}` }
}

const NAME_FAULTS: ReadonlySet<string> = new Set(['IQL.TableExists', 'IQL.SystemTable', 'Data.ReservedName'])
