/** A prepared statement of IQL: its parameters and columns as Describe tells them, its plan, and the values of Bind. */
import {
  arrayParameters,
  type Bound,
  DEFAULT_LIMITS,
  expandArrays,
  type IqlType,
  type IqlValue,
  mayNeedLikeEscape,
  parse,
  type ResultColumn,
  type Statement,
  sameType,
  TEXT,
  withLikeEscapes,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { POSTGRES_TYPES } from '../../../query/codecs.ts'
import type { BuiltStatement, CatalogueSnapshot, Encoding, Planned, Planning, WireForm } from '../../../query/index.ts'
import type { BindMessage, Format } from '../../protocol/messages.ts'
import { type ColumnField, rowDescription } from '../../protocol/replies.ts'
import { readArray } from '../../types/arrays.ts'
import { elementType, postgresType, sizeOfType, typeModifier, typeNamed, typeOid } from '../../types/oids.ts'
import { BadParameter, readParameter } from '../../types/parameters.ts'
import { type SentText, WireError } from '../failure.ts'
import { type ColumnOrigin, findOrigins } from './column-origins.ts'

/** Of = ANY($1) and the like, whose plan depends on the length of the array. */
const MAY_HAVE_ARRAYS = /\b(?:any|some|all)\s*\(\s*\$/i
/** What is derived from a plan once. A prepared statement must not hold its plan, which can be many times as long as its text. */
const FACTS = new WeakMap<Bound, PlanFacts>()

interface PlanFacts {
  /** Of the parameters. */
  readonly positions: readonly number[]
  readonly origins: readonly (ColumnOrigin | undefined)[]
  /** RowDescription where all columns are text. */
  inText: Buffer | undefined
}

const NO_ARRAYS: ReadonlySet<string> = new Set()

export class IqlStatement {
  readonly kind = 'iql'
  readonly text: string
  readonly sent: SentText
  /** As they were when it was prepared. */
  readonly columns: readonly ResultColumn[]
  /** Whether it is a SELECT. */
  readonly isQuery: boolean
  /** OIDs, by position. */
  readonly parameterTypes: readonly number[]
  readonly #declared: readonly number[]
  readonly #arrays: ReadonlySet<string>
  /** Its parameters have no type but the declared one, or its columns repeat a name, or it has arrays or PostgreSQL's patterns. */
  readonly #isOwnPlan: boolean
  readonly #facts: PlanFacts
  #encodings: Map<string, Encoding> | undefined

  /** Throws a PlanPending while its plan is being made. */
  constructor(text: string, sent: SentText, declared: readonly number[], planning: Planning) {
    this.text = text
    this.sent = sent
    this.#declared = declared
    this.#arrays = MAY_HAVE_ARRAYS.test(text) ? arrayParameters(parse(text, planning.limits)) : NO_ARRAYS
    const isPlain = this.#arrays.size === 0 && !mayNeedLikeEscape(text)
    const plain = isPlain ? this.#planAsIs(planning) : undefined
    this.#isOwnPlan = plain === undefined
    const { bound, snapshot } = plain ?? this.#planOwn(inTurns(planning), planning, () => 1)
    if (bound.columns.length > MAX_COLUMNS)
      throw new WireError('54011', `A result has at most ${MAX_COLUMNS} columns, not ${bound.columns.length}`)
    this.columns = bound.columns
    this.isQuery = bound.statement.kind === 'query'
    this.#facts = planFacts(bound, snapshot)
    this.parameterTypes = this.#parameterTypes(bound)
  }

  /** What it takes in memory besides its text, which its parts are not copies of. */
  get size(): number {
    return this.#declared.length * 8 + this.parameterTypes.length * 8 + this.columns.length * COLUMN_BYTES
  }

  /** The plan that HTTP uses; undefined where only a client of PostgreSQL may send such a statement. */
  #planAsIs(planning: Planning): Planned | undefined {
    try {
      return planning.plan(this.text)
    } catch (error) {
      if (error instanceof Refusal && LENIENT.has(error.code)) return undefined
      throw error
    }
  }

  #planOwn(plan: Plan, planning: Planning, listLength: (name: string) => number | null): Planned {
    const names = [...this.#arrays]
    const lengths = names.map((name) => `${name}:${listLength(name)}`).join()
    return plan('', {
      key: `wire ${this.#declared.join()} ${lengths} ${this.text}`,
      text: this.text,
      items: names.reduce((sum, name) => sum + (listLength(name) ?? 0), 0),
      statement: (): Statement => {
        const parsed = withLikeEscapes(parse(this.text, planning.limits))
        return this.#arrays.size === 0 ? parsed : expandArrays(parsed, listLength)
      },
      options: { anyNames: true, declaredType: (name) => this.#declaredType(name) },
    })
  }

  #declaredType(name: string): IqlType {
    const declared = typeNamed(this.#declared[Number(name) - 1] ?? 0)
    return declared === undefined ? TEXT : POSTGRES_TYPES[declared].iql
  }

  #parameterTypes({ parameters }: Bound): readonly number[] {
    const types: number[] = this.#declared.map((oid) => oid)
    for (const { name, type, at } of parameters) {
      const [, number, element] = /^(\d+)(\[1\])?$/.exec(name) ?? []
      if (number === undefined) {
        if (/^\d/.test(name)) continue
        throw new WireError('42601', `The parameter :${name} has a name`, 'Write $1, $2, …', at)
      }
      const index = Number(number) - 1
      const oid = element === undefined ? typeOid(type) : POSTGRES_TYPES[postgresType(type)].array
      if ((types[index] ?? 0) === 0) types[index] = oid
      const declared = types[index] ?? 0
      const isKnown = element === undefined ? typeNamed(declared) : elementType(declared)
      if (isKnown === undefined)
        throw new WireError(
          elementType(declared) === undefined ? '42704' : '42804',
          `$${number} cannot have the type with the OID ${declared}`,
          'Arrays are for = ANY($1) and <> ALL($1)',
          at,
        )
    }
    const { oid: text } = POSTGRES_TYPES.text
    return Array.from(types, (oid) => oid || text)
  }

  /** The plan for the rights of the caller and the tables of this moment. Throws a PlanPending while it is being made. */
  plan(planning: Planning, lengths?: ArrayLengths): Planned {
    return this.#plan(inTurns(planning), planning, lengths)
  }

  planAtOnce(planning: Planning, lengths?: ArrayLengths): Planned {
    return this.#plan((text, built) => planning.planAtOnce(text, built), planning, lengths)
  }

  #plan(plan: Plan, planning: Planning, lengths: ArrayLengths | undefined): Planned {
    const planned = this.#isOwnPlan
      ? this.#planOwn(plan, planning, (name) => (lengths === undefined ? 1 : (lengths.get(name) ?? null)))
      : plan(this.text)
    const { columns } = planned.bound
    if (columns !== this.columns && !areSame(columns, this.columns))
      throw new WireError(
        '0A000',
        'cached plan must not change result type',
        'A table was changed: prepare the statement again',
      )
    return planned
  }

  /** Throws a PlanPending while its plan is being made. */
  bind(message: BindMessage, planning: Planning): BoundPortal {
    const { values, parameterFormats } = message
    if (values.length !== this.parameterTypes.length) {
      const wanted = this.parameterTypes.length
      throw new WireError('08P01', `The statement has ${wanted} parameters, but Bind has ${values.length} values`)
    }
    const arrays = this.#arrays.size === 0 ? undefined : this.#readArrays(message)
    const lengths = arrays && new Map([...arrays].map(([name, array]) => [name, roundedLength(array)]))
    const planned = this.plan(planning, lengths)
    const { bound } = planned
    const parameters: IqlValue[] = []
    const positions = arrays === undefined ? planFacts(bound, planned.snapshot).positions : undefined
    for (let index = 0; index < bound.parameters.length; index++) {
      const parameter = bound.parameters[index]
      if (parameter === undefined) continue
      const position = positions?.[index] ?? Number.parseInt(parameter.name, 10) - 1
      const element = positions === undefined ? findElement(arrays, parameter.name) : undefined
      const bytes = element === undefined ? values[position] : element.bytes
      const isBinary = (parameterFormats.length === 1 ? parameterFormats[0] : parameterFormats[position]) === 1
      const declared = element === undefined ? typeNamed(this.#declared[position] ?? 0) : element.type
      parameters.push(bytes == null ? null : this.#value(bytes, isBinary, declared, parameter.type, position))
    }
    return { statement: this, planned, values: parameters, lengths, ...this.form(message.resultFormats) }
  }

  #value(
    ...[bytes, isBinary, declared, type, position]: [Buffer, boolean, ReturnType<typeof typeNamed>, IqlType, number]
  ): IqlValue {
    try {
      return readParameter(bytes, isBinary, declared, type)
    } catch (error) {
      if (!(error instanceof BadParameter)) throw error
      throw new WireError(error.sqlstate, `The value of $${position + 1} ${error.message}`)
    }
  }

  #readArrays({ values, parameterFormats }: BindMessage): Arrays {
    const arrays = new Map<string, ArrayValue>()
    for (const name of this.#arrays) {
      const position = Number(name) - 1
      const bytes = values[position] ?? null
      const format = parameterFormats.length === 1 ? parameterFormats[0] : parameterFormats[position]
      const elements = bytes === null ? null : this.#readArray(bytes, format === 1, name)
      arrays.set(name, { elements, type: elementType(this.parameterTypes[position] ?? 0) })
    }
    return arrays
  }

  #readArray(bytes: Buffer, isBinary: boolean, name: string): readonly (Buffer | null)[] {
    try {
      return readArray(bytes, isBinary, DEFAULT_LIMITS.inItems)
    } catch (error) {
      if (!(error instanceof BadParameter)) throw error
      throw new WireError(error.sqlstate, `The value of $${name} ${error.message}`)
    }
  }

  /** The encoding of the rows, one object for each choice of formats, so that what is derived from it is found again. */
  form(formats: readonly Format[]): Pick<BoundPortal, 'formats' | 'encoding'> {
    const { length } = this.columns
    if (formats.length > 1 && formats.length !== length)
      throw new WireError('08P01', `Bind has ${formats.length} result formats for ${length} columns`)
    if (formats.length === 0 || !formats.includes(1)) return { formats: [], encoding: TEXT_ROWS }
    const key = formats.join('')
    this.#encodings ??= new Map()
    let encoding = this.#encodings.get(key)
    if (encoding === undefined) {
      const binary = this.columns.map((_, index) => (formats.length === 1 ? formats[0] : formats[index]) === 1)
      encoding = wireEncoding({ kind: 'rows', binary })
      if (this.#encodings.size < MAX_ENCODINGS) this.#encodings.set(key, encoding)
    }
    return { formats, encoding }
  }

  /** RowDescription; undefined if the statement returns no rows. */
  describe(formats: readonly Format[]): Buffer | undefined {
    if (this.columns.length === 0) return undefined
    const { origins } = this.#facts
    if (formats.length > 0) return rowDescription(columnFields(this.columns, formats, origins))
    this.#facts.inText ??= rowDescription(columnFields(this.columns, formats, origins))
    return this.#facts.inText
  }
}

export interface BoundPortal {
  readonly statement: IqlStatement
  readonly planned: Planned
  readonly values: readonly IqlValue[]
  /** Of its arrays, whose elements are among the values. */
  readonly lengths: ArrayLengths | undefined
  readonly formats: readonly Format[]
  readonly encoding: Encoding
}

interface ArrayValue {
  readonly elements: readonly (Buffer | null)[] | null
  readonly type: ReturnType<typeof elementType>
}
/** By the name of the parameter. */
type Arrays = ReadonlyMap<string, ArrayValue>
type ArrayLengths = ReadonlyMap<string, number | null>

/** As in PostgreSQL: messages count the columns in 16 bits. */
const MAX_COLUMNS = 1664
const MAX_ENCODINGS = 8
const LENIENT: ReadonlySet<string> = new Set(['IQL.ParameterType', 'IQL.DuplicateColumn'])

export function wireEncoding(wire: WireForm): Encoding {
  return { format: 'wire', rows: 'arrays', integers: 'numbers', wire }
}

export const TEXT_ROWS: Encoding = wireEncoding({ kind: 'rows', binary: [] })

function planFacts(bound: Bound, snapshot: CatalogueSnapshot): PlanFacts {
  let facts = FACTS.get(bound)
  if (facts === undefined) {
    const positions = bound.parameters.map(({ name }) => Number(name) - 1)
    facts = { positions, origins: findOrigins(bound, snapshot), inText: undefined }
    FACTS.set(bound, facts)
  }
  return facts
}

type Plan = (text: string, built?: BuiltStatement) => Planned

function inTurns(planning: Planning): Plan {
  return (text, built) => planning.plan(text, built)
}

/** Rounded up, so that few plans serve arrays of all lengths: the last element is repeated. */
function roundedLength({ elements }: ArrayValue): number | null {
  const length = elements?.length
  if (length === undefined) return null
  return length === 0 ? 0 : Math.min(2 ** Math.ceil(Math.log2(length)), DEFAULT_LIMITS.inItems)
}

/** The element that a parameter of an expanded list stands for; undefined for other parameters. */
function findElement(arrays: Arrays | undefined, name: string) {
  const open = name.indexOf('[')
  if (open === -1) return undefined
  const array = arrays?.get(name.slice(0, open))
  const elements = array?.elements ?? []
  const index = Math.min(Number.parseInt(name.slice(open + 1), 10), elements.length) - 1
  return { bytes: elements[index] ?? null, type: array?.type }
}

function areSame(a: readonly ResultColumn[], b: readonly ResultColumn[]): boolean {
  if (a.length !== b.length) return false
  return a.every(({ name, type }, index) => {
    const other = b[index]
    return other !== undefined && other.name === name && sameType(other.type, type)
  })
}

export function columnFields(
  columns: readonly ResultColumn[],
  formats: readonly Format[],
  origins: readonly (ColumnOrigin | undefined)[] = [],
): ColumnField[] {
  return columns.map(({ name, type }, index) => {
    const oid = typeOid(type)
    const format = (formats.length === 1 ? formats[0] : formats[index]) ?? 0
    return { name, type: oid, size: sizeOfType(oid), modifier: typeModifier(type), format, ...origins[index] }
  })
}

/** Of a column: its name and type, also as Describe tells them. */
const COLUMN_BYTES = 200

/** Of a bound statement, besides its text and values. */
const BOUND_BYTES = 200

/** The size of a plan, in lengths of its text: measured, 15 for a list of numbers, 38 for 1,600 expressions. */
export const PLAN_TIMES = 30

/** The memory that a bound statement takes. */
export function boundSize({ statement, values, formats }: BoundPortal): number {
  let size = BOUND_BYTES + statement.text.length + 8 * formats.length
  for (const value of values) {
    if (typeof value === 'string') size += 2 * value.length
    else if (value instanceof Uint8Array) size += value.length
    else size += 16
  }
  return size
}
