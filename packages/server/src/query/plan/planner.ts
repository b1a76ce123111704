/** From a statement to a plan: parsed, bound with the caller's rights and turned into SQL. Plans are cached. */
import {
  type BindOptions,
  type Bound,
  bind,
  type CatalogueView,
  DEFAULT_LIMITS,
  findLiterals,
  type Limits,
  parse,
  readShape,
  type Shape,
  type Statement,
  tokenize,
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
import type { BulkEmission } from '../engines/emit/emission.ts'
import type { Engine } from '../engines/engine.ts'
import { TextEncoders } from '../results/encoders.ts'
import { findAutoParameters, readAutoParameters } from './auto-parameters.ts'
import { type Emitted, Emitter, type KeyColumn } from './emitter.ts'
import { LONG_CHARACTERS, LongPlans, PlanPending, whenPlanned } from './long-plans.ts'
import { type CachedPlan, isPlannedFor, MAX_KEY_LENGTH, PlanCache, type PlanRights, ShapeCache } from './plan-caches.ts'
import { statementNeed } from './step-up.ts'
import { refuseUnready } from './unready.ts'

/**
 * A statement that is ready to run. It holds only the values of its own literals, so that callers with the same scopes can share it.
 */
export interface Planned extends CachedPlan, Emitted {
  readonly snapshot: CatalogueSnapshot
  readonly bound: Bound
  /** For the rows of every other statement. */
  readonly encoders: TextEncoders
  readonly readsAuditLog: boolean
  /** What the statement demands of the sign-in of its caller: undefined for almost every one. What runs the plan checks it. */
  readonly stepUp: StepUpNeed | undefined
  /** Plans of another one are invalid: tables, what products cover, or copies have changed. */
  readonly epoch: number
}

type Unemitted = Pick<Planned, 'text' | 'scopes' | 'licensed' | 'snapshot' | 'bound' | 'autoParameters' | 'literals'>

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
  readonly emitter: Emitter
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
    this.emitter = new Emitter(engine)
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
    const { bound, snapshot } = given
    refuseUnready(bound, snapshot)
    return {
      ...given,
      encoders: new TextEncoders(bound.columns),
      stepUp: statementNeed(bound, snapshot),
      epoch: this.#epoch,
      readsAuditLog: bound.tables.some(({ isSystem, name }) => isSystem && name === AUDIT_LOG),
      ...(yield* this.emitter.emit(given, keyColumns, bulk)),
    }
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
