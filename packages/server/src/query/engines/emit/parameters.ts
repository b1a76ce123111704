/** Parameters of emitted SQL. The text holds no values, so one plan serves many callers; each run fills the parameters. */
import {
  type AttributeClaim,
  type ClaimName,
  floorDivide,
  type IqlType,
  type IqlValue,
  isLongType,
  type Literal,
  MAX_CREATED_BYTES,
  MAX_HELD_VALUES,
  MICROS_PER_DAY,
  type Parameter,
  type TextWeight,
} from 'gatehouse-iql'
import type { AttributeInputs } from '../../catalogue/attributes.ts'
import type { ColumnPlan, OwnRows } from '../../columns/plan.ts'
import { findZone, ZONE_NAMES } from '../../zones/zone-file.ts'
import { keyTooLongError, rowCountError, unknownZoneError } from '../runtime-error.ts'
import { type ParameterSource, sourceKey, writeTypeKey, type ZonePart } from './parameter-source.ts'
import { type HeldParameters, heldParameters, isLonger, refuseHeld } from './value-lengths.ts'

/** A value as the engine's driver takes it. */
export type ScalarBindable = null | string | bigint | number | Uint8Array
export type Bindable = ScalarBindable | SharedValues
export type Bind = (value: IqlValue, type: IqlType) => ScalarBindable

/** Values by name, after those by position: parameters that a statement for SQLite uses several times. */
export interface SharedValues {
  readonly [name: string]: ScalarBindable
}

/** A statement with its values, ready to run. */
export interface SqlStatement {
  readonly sql: string
  readonly parameters: readonly Bindable[]
}

export interface PlanParameter {
  readonly source: ParameterSource
  readonly type: IqlType
  /** The value is written to a column that is in a key or an index. */
  readonly limit?: KeyLimit | undefined
}

export interface KeyLimit {
  readonly column: string
  readonly bytes: number
}

/** What one run of a plan supplies. */
export interface RunValues {
  readonly parameters: readonly IqlValue[]
  /** For the parameters `auto-parameter`. */
  readonly literals?: readonly IqlValue[]
  readonly subject: string
  readonly username: string | undefined
  readonly clientId: string
  readonly roles: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** The current values of the caller's attributes, by name; absent if the statement uses none. */
  readonly attributes?: AttributeInputs | undefined
  /** The names of the views that the caller may read, in lower case: for the system tables. */
  readonly views?: () => readonly string[]
  /** When the statement began, since the epoch. */
  readonly milliseconds: number
  /** For the parameters `since`, by the name of the table. */
  readonly since?: ReadonlyMap<string, string>
}

/** The SQL of a bound statement, and where the values of its parameters come from. */
export interface EmittedSql {
  readonly sql: string
  readonly parameters: readonly PlanParameter[]
  /** By name. */
  readonly shared?: ReadonlyMap<string, PlanParameter> | undefined
  /** The parameters whose values an insert returns, where the statement itself returns nothing. */
  readonly returned?: readonly number[] | undefined
  /** Another way to compute the same result, which the engine may choose. */
  readonly parts?: PartsPlan | undefined
  /** Set if parameters can be too long for the operations of the statement. */
  readonly held?: HeldParameters | undefined
}

/** A grouping of a table by parts: see part-groups.ts. */
export interface PartsPlan extends PartsTable {
  readonly part: EmittedSql
  readonly whole: EmittedSql
  readonly found: EmittedSql
  readonly columns: PlannedColumns | { readonly why: string }
}

export interface PlannedColumns {
  readonly plan: ColumnPlan
  readonly expressions: readonly EmittedSql[]
  readonly joinedRows: EmittedSql | undefined
  readonly ownRows: OwnRows<EmittedSql> | undefined
}

export interface PartsTable {
  readonly name: string
  /** The table that is read, and the name of its row identifier. */
  readonly table: string
  readonly rowId: string
  /** As statements name it. */
  readonly alias: string
  /** The name of the other table of an ASOF JOIN. */
  readonly joined: string | undefined
  /** How many keys the groups have. Without any there is one group, even without rows. */
  readonly keys: number
  /** Whether the usual plan is faster where all parts come from rows. */
  readonly isSlowFromRows: boolean
  /** Creates the table of the parts. */
  readonly create: string
}

/** Placeholders while the text is put together, in any order. A name cannot contain control characters. */
const PLACEHOLDER = /\u0001(\d+|limit|held)\u0002/g
const CREATED_LIMIT = '\u0001limit\u0002'
const HELD_LIMIT = '\u0001held\u0002'

export class Placeholders {
  readonly #parameters: PlanParameter[] = []
  readonly #byKey = new Map<string, number>()
  /** Of literals, by the key of their type. */
  readonly #byValue = new Map<string, Map<IqlValue, number>>()
  /** What the statement holds, if it is known. */
  readonly #weight: () => TextWeight | undefined
  #created = 0
  #held = 0

  constructor(weight: () => TextWeight | undefined = () => undefined) {
    this.#weight = weight
  }

  /** A placeholder for the value. Equal sources share a parameter, so that PostgreSQL sees equal expressions as equal. */
  of(source: ParameterSource, type: IqlType): string {
    if (source.kind === 'literal' && (typeof source.value !== 'object' || source.value === null))
      return this.#findOrAdd(this.#valuesByType(type), source.value, source, type)
    return this.#findOrAdd(this.#byKey, sourceKey(source, type), source, type)
  }

  #findOrAdd<Key>(known: Map<Key, number>, key: Key, source: ParameterSource, type: IqlType): string {
    let index = known.get(key)
    if (index === undefined) {
      index = this.#parameters.push({ source, type }) - 1
      known.set(key, index)
    }
    return `\u0001${index}\u0002`
  }

  /** A long statement has thousands of literals: their values themselves are the keys. */
  #valuesByType(type: IqlType): Map<IqlValue, number> {
    const key = writeTypeKey(type)
    const known = this.#byValue.get(key)
    if (known !== undefined) return known
    const values = new Map<IqlValue, number>()
    this.#byValue.set(key, values)
    return values
  }

  /** Refuses longer values of a parameter that has a placeholder. */
  limitParameter(index: number, type: IqlType, limit: KeyLimit): void {
    const at = this.#byKey.get(sourceKey({ kind: 'parameter', index }, type))
    const parameter = at === undefined ? undefined : this.#parameters[at]
    if (at === undefined || parameter === undefined) throw new Error('A limit of a parameter without a placeholder')
    if (limit.bytes < (parameter.limit?.bytes ?? Number.POSITIVE_INFINITY))
      this.#parameters[at] = { ...parameter, limit }
  }

  /** A placeholder for the bytes that each operation may create. `count` is the number of values that this one creates. */
  createdLimit(count = 1): string {
    this.#created += count
    return CREATED_LIMIT
  }

  /** Whether the text contains limits on created values, which depend on the number of operations that create some. */
  get createsValues(): boolean {
    return this.#created > 0
  }

  /** A placeholder for the number of values that each median or percentile may hold. `count` is the weight of this one. */
  heldLimit(count: number): string {
    this.#held += count
    return HELD_LIMIT
  }

  /** The text with `?` for each use of a parameter, but with a name for a parameter that may be long and is used several times. */
  positional(text: string): EmittedSql {
    const parameters: PlanParameter[] = []
    const names = this.#sharedNames(text)
    const sql = text.replace(PLACEHOLDER, (_placeholder, index: string) => {
      const share = this.#share(index)
      if (share !== undefined) return share
      const name = names?.get(index)
      if (name !== undefined) return `@${name}`
      parameters.push(this.#at(Number(index)))
      return '?'
    })
    const emitted = { sql, parameters, held: this.#heldParameters }
    if (names === undefined) return emitted
    return { ...emitted, shared: new Map([...names].map(([index, name]) => [name, this.#at(Number(index))])) }
  }

  /** Names by the index of the parameter. */
  #sharedNames(text: string): ReadonlyMap<string, string> | undefined {
    if (!this.#parameters.some(mayBeLong)) return undefined
    const seen = new Set<string>()
    const names = new Map<string, string>()
    for (const [, index = ''] of text.matchAll(PLACEHOLDER)) {
      if (this.#share(index) !== undefined || !mayBeLong(this.#at(Number(index)))) continue
      if (seen.has(index)) names.set(index, `p${index}`)
      seen.add(index)
    }
    return names.size === 0 ? undefined : names
  }

  /** The text with `$1`, `$2`, …, one number for each parameter. */
  numbered(text: string): EmittedSql {
    const parameters: PlanParameter[] = []
    const numbers = new Map<string, number>()
    const sql = text.replace(PLACEHOLDER, (_placeholder, index: string) => {
      const share = this.#share(index)
      if (share !== undefined) return share
      let number = numbers.get(index)
      if (number === undefined) {
        number = parameters.push(this.#at(Number(index)))
        numbers.set(index, number)
      }
      return `$${number}`
    })
    return { sql, parameters, held: this.#heldParameters }
  }

  get #heldParameters(): HeldParameters | undefined {
    const weight = this.#parameters.some(isLongConstant) ? this.#weight() : undefined
    return weight && heldParameters(weight)
  }

  /** The number of a limit; undefined for a parameter. */
  #share(placeholder: string): string | undefined {
    if (placeholder === 'limit')
      return String(Math.floor(MAX_CREATED_BYTES / Math.max(1, this.#created, this.#weight()?.created ?? 0)))
    return placeholder === 'held' ? String(2 ** Math.floor(Math.log2(MAX_HELD_VALUES / this.#held)) - 1) : undefined
  }

  #at(index: number): PlanParameter {
    const parameter = this.#parameters[index]
    if (parameter === undefined) throw new Error('A placeholder without a parameter')
    return parameter
  }
}

export function bindParameters(emitted: EmittedSql, values: RunValues, bind: Bind): Bindable[] {
  if (emitted.held !== undefined) refuseHeld(emitted.held, values.parameters)
  const bound = emitted.parameters.map((parameter) => boundParameter(parameter, values, bind))
  if (emitted.shared === undefined) return bound
  const shared = Array.from(
    emitted.shared,
    ([name, parameter]) => [name, boundParameter(parameter, values, bind)] as const,
  )
  return [...bound, Object.fromEntries(shared)]
}

/** The value of a parameter, as the driver takes it. */
export function boundParameter({ source, type, limit }: PlanParameter, values: RunValues, bind: Bind): ScalarBindable {
  const value = parameterValue(source, values)
  if (limit !== undefined && isLonger(value, limit.bytes)) throw keyTooLongError(limit.column, limit.bytes)
  return typeof value === 'string' ? value : bind(value, type)
}

/** A value that is used several times can make a result that many times as long. */
const SHARED_WEIGHT = 100

/** The length of the texts and bytes among the values. */
export function sizeOfAll(values: readonly Bindable[]): number {
  let size = 0
  for (const value of values) {
    if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
    else if (typeof value === 'object' && value !== null) size += SHARED_WEIGHT * sizeOfAll(Object.values(value))
  }
  return size
}

function parameterValue(source: ParameterSource, values: RunValues): IqlValue {
  switch (source.kind) {
    case 'literal':
      return source.value
    case 'auto-parameter':
      return literalValue(source.index, values)
    case 'parameter':
      return values.parameters[source.index] ?? null
    case 'row-count':
      return checkRowCount(values.parameters[source.index] ?? null)
    case 'claim':
      return claimValue(source.claim, values)
    case 'claim-set': {
      const set = attributeValues(source.claim, values)
      // With NULL as its only element, both IN and NOT IN are unknown.
      return source.write(set.length === 0 ? [null] : set)
    }
    case 'roles':
      return JSON.stringify(values.roles)
    case 'scopes':
      return JSON.stringify([...values.scopes])
    case 'views':
      return JSON.stringify(values.views?.() ?? [])
    case 'now':
      return nowInMicros(values)
    case 'today':
      return floorDivide(nowInMicros(values), MICROS_PER_DAY)
    case 'literal-list':
      return source.text
    case 'list':
      return source.write(source.items.map((item) => itemValue(item, values)))
    case 'zone':
      return zoneValue(itemValue(source.name, values), source.part)
    case 'since':
      return values.since?.get(source.table) ?? null
  }
}

function zoneValue(name: IqlValue, part: ZonePart): IqlValue {
  if (typeof name !== 'string') return null
  const zone = findZone(name)
  if (zone === undefined) throw unknownZoneError(name, ZONE_NAMES.hint(name))
  return part === 'name' ? zone.name : `{${zone[part].join()}}`
}

function itemValue(item: Literal | Parameter, { parameters }: RunValues): IqlValue {
  return item.kind === 'literal' ? item.value : (parameters[item.index] ?? null)
}

function literalValue(index: number, { literals }: RunValues): IqlValue {
  const value = literals?.[index]
  if (value === undefined) throw new Error('A plan without the literals of its statement')
  return value
}

function checkRowCount(value: IqlValue): IqlValue {
  if (typeof value !== 'bigint' || value < 0n) throw rowCountError(value)
  return value
}

/** A token of a client has no username: a filter that compares it is not true. */
export function claimValue(claim: ClaimName | AttributeClaim, values: RunValues): IqlValue {
  switch (claim) {
    case 'sub':
      return values.subject
    case 'username':
      return values.username ?? null
    case 'client_id':
      return values.clientId
    default:
      return attributeValues(claim, values)[0] ?? null
  }
}

/** The caller supplies the attributes that a statement uses: without them, a filter would silently show nothing. */
function attributeValues(claim: AttributeClaim, { attributes }: RunValues): readonly IqlValue[] {
  if (attributes === undefined) throw new Error('A plan without the attributes of its caller')
  return attributes.get(claim.slice('attribute.'.length)) ?? []
}

function nowInMicros({ milliseconds }: RunValues): bigint {
  return BigInt(milliseconds) * 1000n
}

function mayBeLong({ source, type }: PlanParameter): boolean {
  return source.kind === 'parameter' && isLongType(type)
}

function isLongConstant({ source, type }: PlanParameter): boolean {
  return (source.kind === 'parameter' || source.kind === 'literal') && isLongType(type)
}
