/** Values never stand in SQL text: each has a slot, filled when the statement runs, so that one plan serves many callers. */

import { MICROS_PER_DAY } from '../../iql/time-values.ts'
import type { IqlType, IqlValue } from '../../iql/types.ts'
import { floorDivide } from '../../wire-text.ts'
import type { Bindable } from '../engine.ts'

export type SlotSource =
  | { readonly kind: 'literal'; readonly value: IqlValue }
  | { readonly kind: 'parameter'; readonly index: number }
  /** A number of rows: a parameter that may not be negative. */
  | { readonly kind: 'row-count'; readonly index: number }
  | { readonly kind: 'claim'; readonly claim: 'sub' | 'client_id' }
  /** JSON arrays of texts. */
  | { readonly kind: 'roles' | 'scopes' }
  | { readonly kind: 'now' | 'today' }

export interface Slot {
  readonly source: SlotSource
  readonly type: IqlType
}

/** What a run brings to a plan. */
export interface RunValues {
  readonly parameters: readonly IqlValue[]
  readonly subject: string
  readonly clientId: string
  readonly roles: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** Since the epoch, when the statement began. */
  readonly milliseconds: number
}

export interface Plan {
  readonly sql: string
  readonly slots: readonly Slot[]
}

/** Marks stand in the text while it is put together in any order; control characters cannot come from a name. */
const MARK = /\u0001(\d+)\u0002/g

export class Slots {
  readonly #slots: Slot[] = []
  readonly #byKey = new Map<string, number>()

  /** Equal sources share a slot, so that PostgreSQL sees equal expressions as equal. */
  mark(source: SlotSource, type: IqlType): string {
    const key = keyOf(source, type)
    let index = this.#byKey.get(key)
    if (index === undefined) {
      index = this.#slots.push({ source, type }) - 1
      this.#byKey.set(key, index)
    }
    return `\u0001${index}\u0002`
  }

  /** `?` in the order of the text, a slot as often as it is used. */
  positional(marked: string): Plan {
    const slots: Slot[] = []
    const sql = marked.replace(MARK, (_mark, index: string) => {
      slots.push(this.#at(Number(index)))
      return '?'
    })
    return { sql, slots }
  }

  /** `$1`, `$2`, … each slot once. */
  numbered(marked: string): Plan {
    const slots: Slot[] = []
    const numbers = new Map<string, number>()
    const sql = marked.replace(MARK, (_mark, index: string) => {
      let number = numbers.get(index)
      if (number === undefined) {
        number = slots.push(this.#at(Number(index)))
        numbers.set(index, number)
      }
      return `$${number}`
    })
    return { sql, slots }
  }

  #at(index: number): Slot {
    const slot = this.#slots[index]
    if (slot === undefined) throw new Error('A mark without a slot')
    return slot
  }
}

export function fill(plan: Plan, values: RunValues, bind: (value: IqlValue, type: IqlType) => Bindable): Bindable[] {
  return plan.slots.map(({ source, type }) => {
    const given = valueAt(source, values)
    return typeof given === 'string' ? given : bind(given, type)
  })
}

/** A text goes to the driver as it is. */
function valueAt(source: SlotSource, values: RunValues): IqlValue {
  switch (source.kind) {
    case 'literal':
      return source.value
    case 'parameter':
    case 'row-count':
      return values.parameters[source.index] ?? null
    case 'claim':
      return source.claim === 'sub' ? values.subject : values.clientId
    case 'roles':
      return JSON.stringify(values.roles)
    case 'scopes':
      return JSON.stringify([...values.scopes])
    case 'now':
      return nowOf(values)
    case 'today':
      return floorDivide(nowOf(values), MICROS_PER_DAY)
  }
}

function nowOf({ milliseconds }: RunValues): bigint {
  return BigInt(milliseconds) * 1000n
}

function keyOf(source: SlotSource, type: IqlType): string {
  const typeKey = type.kind === 'Decimal' ? `Decimal${type.precision},${type.scale}` : type.kind
  if (source.kind === 'literal') {
    const { value } = source
    const text =
      value instanceof Uint8Array
        ? Buffer.from(value).toString('hex')
        : typeof value === 'object' && value !== null
          ? `${value.months}:${value.micros}`
          : String(value)
    return `literal ${typeKey} ${typeof value} ${text}`
  }
  if (source.kind === 'parameter' || source.kind === 'row-count') return `${source.kind} ${typeKey} ${source.index}`
  return `${source.kind} ${typeKey} ${source.kind === 'claim' ? source.claim : ''}`
}
