/** From a statement to a plan: parsed, bound with the caller's rights and turned into SQL. Plans are cached. */
import {
  type BindOptions,
  type Bound,
  type BoundExpression,
  type BoundQuery,
  bind,
  type CatalogueView,
  DEFAULT_LIMITS,
  type Delete,
  findLiterals,
  type Insert,
  type Limits,
  parse,
  readShape,
  type Shape,
  type Statement,
  type TableView,
  tokenize,
  type Update,
  type Weighed,
} from 'gatehouse-iql'
import type { StepUpNeed } from 'gatehouse-protocol'
import { atOnce, type Steps } from '../../lib/turns.ts'
import {
  type Copies,
  findAccess,
  NO_COPIES,
  NO_LICENCES,
  noAccess,
  type TableLicences,
  type TableRights,
} from '../catalogue/licences.ts'
import { type CatalogueSnapshot, viewFor } from '../catalogue/snapshot.ts'
import { AUDIT_LOG } from '../catalogue/system-tables.ts'
import type { EmittedColumnPlan, NotPlanned } from '../engines/emit/column-plan.ts'
import { type BulkEmission, type Emission, emitExpression } from '../engines/emit/emission.ts'
import { returningGiven } from '../engines/emit/given-row.ts'
import type { EmittedSql, PartsPlan, PlannedColumns } from '../engines/emit/parameters.ts'
import { emitPartGroups } from '../engines/emit/part-groups.ts'
import { createEmission, emitQuery } from '../engines/emit/query.ts'
import { emitDelete, emitInsert, emitUpdate } from '../engines/emit/write.ts'
import type { Engine, PreparedRead } from '../engines/engine.ts'
import type { CostClass } from '../model/cost-class.ts'
import { TextEncoders } from '../results/encoders.ts'
import { type AutoParameter, findAutoParameters, readAutoParameters } from './auto-parameters.ts'
import { estimateCost, isBoundedWrite } from './cost.ts'
import { LONG_CHARACTERS, LongPlans, PlanPending, whenPlanned } from './long-plans.ts'
import { type CachedPlan, isPlannedFor, MAX_KEY_LENGTH, PlanCache, type PlanRights, ShapeCache } from './plan-caches.ts'
import { statementNeed } from './step-up.ts'
import { refuseUnready } from './unready.ts'

/**
 * A statement that is ready to run. It holds only the values of its own literals, so that callers with the same scopes can share it.
 */
export interface Planned extends CachedPlan {
  readonly snapshot: CatalogueSnapshot
  readonly bound: Bound
  /** Undefined for statements that no engine runs as they are: definitions, EXPLAIN, SHOW, writes to system tables. */
  readonly emitted: EmittedSql | undefined
  readonly cost: CostClass
  /** Set for queries. */
  readonly read: PreparedRead | undefined
  /** For the rows of every other statement. */
  readonly encoders: TextEncoders
  readonly readsAuditLog: boolean
  /** What the statement demands of the sign-in of its caller: undefined for almost every one. What runs the plan checks it. */
  readonly stepUp: StepUpNeed | undefined
  /** Plans of another one are invalid: tables, what products cover, or copies have changed. */
  readonly epoch: number
}

type Unemitted = Pick<Planned, 'text' | 'scopes' | 'licensed' | 'snapshot' | 'bound' | 'autoParameters' | 'literals'>

/** A query that may read column segments, by parts and as a whole. */
export interface ColumnsPlan {
  readonly usual: EmittedSql
  readonly parts: PartsPlan
}

export interface KeyColumn {
  readonly name: string
  readonly expression: BoundExpression
}

/** A statement that was built from a request instead of parsed. */
export interface BuiltStatement {
  /** Equal keys must build equal statements. */
  readonly key: string
  readonly statement: () => Statement
  readonly keys?: (bound: Bound) => readonly KeyColumn[]
  /** Of a statement that has a text after all: errors point into it. */
  readonly text?: string
  readonly options?: BindOptions
  /** The items that its arrays have, where the key does not grow with them. */
  readonly items?: number
  /** Set for a bulk insert. */
  readonly bulk?: BulkEmission | undefined
}

export class Planner {
  readonly #engine: Engine
  /** Of every statement. */
  readonly limits: Limits
  /** By text. */
  readonly #statements = new PlanCache<Planned>()
  /** By shape. */
  readonly #shapes = new ShapeCache<Planned>()
  /** By key. */
  readonly #built = new PlanCache<Planned>()
  /** Of long statements, by text or key. */
  readonly #long = new LongPlans<Planned>()
  readonly #licences: Pick<TableLicences, 'version' | 'covers'>
  readonly #copies: Copies
  #version = 0
  #licencesVersion = 0
  #copiesVersion = 0
  #epoch = 0

  constructor(
    engine: Engine,
    limits: Limits = DEFAULT_LIMITS,
    licences: Pick<TableLicences, 'version' | 'covers'> = NO_LICENCES,
    copies: Copies = NO_COPIES,
  ) {
    this.#copies = copies
    this.#engine = engine
    this.limits = limits
    this.#licences = licences
  }

  /** The number of statements with cached plans. */
  get size(): number {
    return this.#statements.size + this.#shapes.size + this.#built.size
  }

  /** `text` is empty for a built statement. */
  plan(caller: PlanRights, snapshot: CatalogueSnapshot, text: string, built?: BuiltStatement): Planned {
    this.#follow(snapshot)
    const known = this.#find(this.#rights(caller), snapshot, text, built)
    return 'plan' in known ? known.plan : atOnce(known.steps())
  }

  /** The same, but throws a PlanPending while the plan of a long statement is being made. `owner` are those who take turns. */
  planInTurns(
    owner: string,
    caller: PlanRights,
    snapshot: CatalogueSnapshot,
    text: string,
    built?: BuiltStatement,
  ): Planned {
    this.#follow(snapshot)
    const rights = this.#rights(caller)
    const known = this.#find(rights, snapshot, text, built)
    if ('plan' in known) return known.plan
    const key = longKey(text, built)
    if (planSize(key, built) <= LONG_CHARACTERS) return atOnce(known.steps())
    throw new PlanPending(this.#long.make(owner, key, rights, known.steps))
  }

  #find(
    rights: PlanRights,
    snapshot: CatalogueSnapshot,
    text: string,
    built: BuiltStatement | undefined,
  ): { readonly plan: Planned } | { readonly steps: () => Steps<Planned> } {
    const cached = built === undefined ? this.#statements.find(text, rights) : this.#built.find(built.key, rights)
    if (cached !== undefined) return { plan: cached }
    const key = longKey(text, built)
    const long = planSize(key, built) > LONG_CHARACTERS ? this.#long.find(key, rights) : undefined
    if (long !== undefined) return { plan: long }
    if (built !== undefined) return { steps: () => this.#planBuilt(rights, snapshot, built) }
    const shape = this.#mayShare(text) ? readShape(text) : undefined
    const plan = this.#shapes.find(shape, text, rights)
    return plan === undefined ? { steps: () => this.#planText(rights, snapshot, text, shape) } : { plan }
  }

  /** A plan with all literals in it: for live statements, which share results if their plans are equal. */
  planWithLiterals(caller: PlanRights, snapshot: CatalogueSnapshot, text: string): Planned {
    this.#follow(snapshot)
    const rights = this.#rights(caller)
    const long = text.length > MAX_KEY_LENGTH ? this.#long.find(text, rights) : undefined
    return long ?? this.#statements.find(text, rights) ?? atOnce(this.#planText(rights, snapshot, text, undefined))
  }

  /** Resolves when `planWithLiterals` finds the plan of a very long text, which always has all literals in it. Undefined for other texts. */
  planAhead(owner: string, caller: PlanRights, snapshot: CatalogueSnapshot, text: string) {
    if (text.length <= MAX_KEY_LENGTH) return undefined
    return whenPlanned(() => this.planInTurns(owner, caller, snapshot, text))
  }

  /** Whether the plan is what it would be now. Throws a PlanPending while what the caller has of its tables is not known. */
  isCurrent(plan: Planned, caller: PlanRights, snapshot: CatalogueSnapshot): boolean {
    this.#follow(snapshot)
    return plan.epoch === this.#epoch && plan.scopes === caller.scopes && isPlannedFor(plan, caller)
  }

  /** Who does not say what it has of covered tables has nothing of these. */
  #rights(caller: PlanRights): PlanRights {
    const { scopes, tables } = caller
    return this.#licences.version === 0 || tables !== undefined ? caller : { scopes, tables: nothing(this.#licences) }
  }

  #view(snapshot: CatalogueSnapshot, { scopes, tables }: PlanRights, { kind }: Statement): CatalogueView {
    // A view is defined without reading a row; who reads it has what is theirs.
    const isView = kind === 'create-view' || kind === 'create-kept-view'
    return isView ? viewFor(snapshot, scopes) : viewFor(snapshot, scopes, tables, this.#copies)
  }

  #access({ scopes }: PlanRights, { tables }: Bound): Pick<Planned, 'scopes' | 'licensed'> {
    if (this.#licences.version === 0) return { scopes, licensed: [] }
    const covered = tables.filter(
      ({ name, isSystem }) => !isSystem && this.#licences.covers(name.toLowerCase()) !== undefined,
    )
    return {
      scopes,
      licensed: covered.map((table) => ({ table: table.name.toLowerCase(), access: findAccess(table) })),
    }
  }

  #follow({ version }: CatalogueSnapshot): void {
    const [licences, copies] = [this.#licences.version, this.#copies.version]
    if (version === this.#version && licences === this.#licencesVersion && copies === this.#copiesVersion) return
    this.#licencesVersion = licences
    this.#copiesVersion = copies
    this.#epoch++
    this.#statements.clear()
    this.#shapes.clear()
    this.#built.clear()
    this.#long.clear()
    this.#version = version
  }

  /** A UTF-16 code unit takes at most three bytes, so no statement of this length exceeds the byte limit. */
  #mayShare(text: string): boolean {
    return text.length <= MAX_KEY_LENGTH && text.length * 3 <= this.limits.statementBytes
  }

  *#planText(rights: PlanRights, snapshot: CatalogueSnapshot, text: string, shape: Shape | undefined): Steps<Planned> {
    const tokens = tokenize(text, this.limits)
    yield
    const statement = parse(text, this.limits, tokens)
    yield
    const written = shape === undefined ? undefined : findLiterals(statement, shape)
    const bound = bind(statement, text, this.#view(snapshot, rights, statement), written)
    yield
    const autoParameters = shape === undefined ? [] : findAutoParameters(bound, shape, snapshot)
    const literals = shape === undefined ? [] : (readAutoParameters(autoParameters, shape) ?? [])
    const made = yield* this.#emit(
      { text, ...this.#access(rights, bound), snapshot, bound, autoParameters, literals },
      [],
    )
    if (shape === undefined || !this.#shapes.add(shape, made)) this.#statements.add(text, made)
    return made
  }

  *#planBuilt(rights: PlanRights, snapshot: CatalogueSnapshot, built: BuiltStatement): Steps<Planned> {
    const { text = '', options } = built
    const statement = built.statement()
    yield
    const bound = bind(statement, text, this.#view(snapshot, rights, statement), undefined, options)
    yield
    const given = { text, ...this.#access(rights, bound), snapshot, bound, autoParameters: [], literals: [] }
    const made = yield* this.#emit(given, built.keys?.(bound) ?? [], built.bulk)
    this.#built.add(built.key, made)
    return made
  }

  *#emit(given: Unemitted, keyColumns: readonly KeyColumn[], bulk?: BulkEmission): Steps<Planned> {
    const { bound, snapshot, autoParameters } = given
    const { statement } = bound
    refuseUnready(bound, snapshot)
    const common = {
      ...given,
      encoders: new TextEncoders(bound.columns),
      read: undefined,
      stepUp: statementNeed(bound, snapshot),
      epoch: this.#epoch,
      readsAuditLog: bound.tables.some(({ isSystem, name }) => isSystem && name === AUDIT_LOG),
    }
    switch (statement.kind) {
      case 'query': {
        const keys = keyColumns.map(({ expression }) => expression)
        const whole = yield* this.#finish((emission) => emitQuery(statement, emission, keys), {
          snapshot,
          autoParameters,
          statement,
        })
        yield
        const parts = keys.length === 0 ? this.#planParts(statement, autoParameters) : undefined
        const emitted = parts === undefined || 'why' in parts ? whole : { ...whole, parts }
        const cost = estimateCost(
          statement,
          (table) => snapshot.findIndexes(table),
          (table) => snapshot.findAscendingIndexes(table),
        )
        yield
        const read = this.#engine.prepareRead({
          sql: emitted.sql,
          columns: bound.columns,
          keyColumns: keyColumns.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable })),
          cost,
        })
        return { ...common, emitted, cost, read }
      }
      case 'insert':
      case 'update':
      case 'delete': {
        if (statement.table.isSystem) return { ...common, emitted: undefined, cost: 'unbounded' }
        const isBounded = isBoundedWrite(statement)
        const finish = (write: Insert | Update | Delete): Steps<EmittedSql> =>
          this.#finish((emission) => emitWrite(write, emission, snapshot, isBounded), {
            snapshot,
            autoParameters,
            statement: write,
            bulk,
          })
        const unread =
          statement.kind === 'insert' && bulk === undefined
            ? returningGiven(statement, this.#engine.dialect, (insert) => atOnce(finish(insert)))
            : undefined
        return { ...common, emitted: unread ?? (yield* finish(statement)), cost: isBounded ? 'bounded' : 'unbounded' }
      }
      default:
        return { ...common, emitted: undefined, cost: 'unbounded' }
    }
  }

  /** A query that the service itself runs on behalf of a statement. */
  emitQuery(query: BoundQuery): EmittedSql {
    return atOnce(this.#finish((emission) => emitQuery(query, emission)))
  }

  /** An expression without columns, as a query with one row. */
  emitValue(expression: BoundExpression): EmittedSql {
    return atOnce(this.#finish((emission) => `SELECT ${emitExpression(expression, emission)} AS c0`))
  }

  /** A query as it reads column segments, or why it does not. */
  planColumns(query: BoundQuery, parameters: readonly AutoParameter[]): ColumnsPlan | NotPlanned {
    const parts = this.#planParts(query, parameters)
    if ('why' in parts) return parts
    if ('why' in parts.columns) return parts.columns
    return { usual: this.emitQuery(query), parts }
  }

  #planParts(query: BoundQuery, parameters: readonly AutoParameter[]): PartsPlan | NotPlanned {
    const emission = createEmission(this.#engine.dialect, { autoParameters: parameterSlots(parameters) })
    const parts = emitPartGroups(query, emission)
    if ('why' in parts) return parts
    const finish = (text: string): EmittedSql => this.#engine.finish(emission.placeholders, text)
    const { part, whole, found, columns, ...table } = parts
    const statements = { part: finish(part), whole: finish(whole), found: finish(found) }
    return { ...table, ...statements, columns: 'why' in columns ? columns : finishColumns(columns, finish) }
  }

  *#finish(emit: (emission: Emission) => string, of?: Finished): Steps<EmittedSql> {
    const autoParameters = parameterSlots(of?.autoParameters ?? [])
    const findIndexes = (table: TableView) => of?.snapshot.findIndexes(table) ?? []
    const emission = createEmission(this.#engine.dialect, {
      autoParameters,
      findIndexes,
      statement: of?.statement,
      bulk: of?.bulk,
    })
    const sql = emit(emission)
    yield
    return this.#engine.finish(emission.placeholders, sql)
  }
}

function nothing(licences: Pick<TableLicences, 'covers'>): TableRights {
  return { find: (table) => (licences.covers(table) === undefined ? undefined : noAccess(table)) }
}

/** A built statement may have the text of another one. */
function longKey(text: string, built: BuiltStatement | undefined): string {
  return built === undefined ? text : `\0${built.key}`
}

/** In characters: an item of a list has a few. */
function planSize(key: string, built: BuiltStatement | undefined): number {
  return key.length + ITEM_CHARACTERS * (built?.items ?? 0)
}

const ITEM_CHARACTERS = 8

/** What is known about a caller's statement. */
interface Finished {
  readonly snapshot: CatalogueSnapshot
  readonly autoParameters: readonly AutoParameter[]
  readonly statement: Weighed
  readonly bulk?: BulkEmission | undefined
}

/** The indexes of the parameters, by those of the literals. */
function parameterSlots(parameters: readonly AutoParameter[]): Emission['autoParameters'] {
  return new Map(parameters.map(({ index: written }, index) => [written, index]))
}

function emitWrite(
  statement: Insert | Update | Delete,
  emission: Emission,
  snapshot: CatalogueSnapshot,
  isBounded: boolean,
): string {
  switch (statement.kind) {
    case 'insert':
      return emitInsert(statement, emission, snapshot, isBounded)
    case 'update':
      return emitUpdate(statement, emission, snapshot, isBounded)
    case 'delete':
      return emitDelete(statement, emission, isBounded)
  }
}

function finishColumns(
  { expressions, joinedRows, ownRows, ...plan }: EmittedColumnPlan,
  finish: (text: string) => EmittedSql,
): PlannedColumns {
  return {
    plan,
    expressions: expressions.map(finish),
    joinedRows: joinedRows === undefined ? undefined : finish(joinedRows),
    ownRows: ownRows && { ...ownRows, rows: finish(ownRows.rows) },
  }
}
