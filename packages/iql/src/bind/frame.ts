/** Binds the frame of a window: the distances of a RANGE are measured along the one key of its order. */

import type { BoundFrame, BoundFrameBound, BoundOrder } from '../bound/bound-query.ts'
import type { FunctionDefinition, WindowId } from '../functions/functions.ts'
import type { Binding } from '../scope/binding.ts'
import type { Frame, FrameBound, WindowSpec } from '../syntax/ast-query.ts'
import { MICROS_PER_DAY, readInterval } from '../types/time-values.ts'
import { FORMS, type TypeKind, typeName } from '../types/types.ts'

/** Functions that look back to the first or the last known value use a fixed frame. */
export function bindFrame(
  binding: Binding,
  { id }: FunctionDefinition,
  { frame, at }: WindowSpec,
  orderBy: readonly BoundOrder[],
): BoundFrame | undefined {
  if (!FILLING.has(id)) return frame === undefined ? undefined : new FrameBinding(binding, frame, at, orderBy).bind()
  if (frame === undefined) return { unit: 'rows', start: { kind: 'unbounded-preceding' }, end: { kind: 'current-row' } }
  throw binding.fail('BadArguments', at, 'locf, interpolate and ema have no frame', { hint: 'leave out the frame' })
}

const FILLING: ReadonlySet<string> = new Set<WindowId>(['locf', 'interpolate', 'interpolate_integer', 'ema'])

const FRAME_ORDER = ['unbounded-preceding', 'preceding', 'current-row', 'following', 'unbounded-following'] as const

/** Both databases can add as much to every Timestamp. */
const MAX_MICROS = 365_000n * MICROS_PER_DAY

const MOMENTS: ReadonlySet<TypeKind> = new Set(['Timestamp', 'LocalTimestamp', 'Date', 'Time'])

class FrameBinding {
  readonly #binding: Binding
  readonly #frame: Frame
  readonly #at: number
  readonly #orderBy: readonly BoundOrder[]

  constructor(binding: Binding, frame: Frame, at: number, orderBy: readonly BoundOrder[]) {
    this.#binding = binding
    this.#frame = frame
    this.#at = at
    this.#orderBy = orderBy
  }

  bind(): BoundFrame {
    const [start, end] = [this.#bound(this.#frame.start), this.#bound(this.#frame.end)]
    const startsAfter = FRAME_ORDER.indexOf(start.kind) - FRAME_ORDER.indexOf(end.kind)
    const difference =
      'distance' in start && 'distance' in end
        ? start.kind === 'preceding'
          ? end.distance - start.distance
          : start.distance - end.distance
        : 0n
    const isEmpty = startsAfter > 0 || (startsAfter === 0 && difference > 0n)
    if (isEmpty || start.kind === 'unbounded-following' || end.kind === 'unbounded-preceding')
      throw this.#fail('The frame ends before it starts')
    return { unit: this.#frame.unit, start, end }
  }

  #bound(bound: FrameBound): BoundFrameBound {
    if (!('rows' in bound) && !('interval' in bound)) return bound
    if (this.#frame.unit === 'range') return { kind: bound.kind, distance: this.#distance(bound) }
    if ('rows' in bound) return { kind: bound.kind, distance: BigInt(bound.rows) }
    throw this.#fail('ROWS takes numbers of rows; use RANGE with an interval')
  }

  #distance(bound: Extract<FrameBound, { rows: number } | { interval: string }>): bigint {
    const [key, another] = this.#orderBy
    if (key === undefined || another !== undefined)
      throw this.#fail('RANGE with a distance needs one key of the order', 'write ORDER BY with one expression')
    const { type } = key.expression
    if (MOMENTS.has(type.kind)) {
      if ('interval' in bound) return this.#micros(bound.interval, type.kind)
      throw this.#fail(`A distance along a ${typeName(type)} is an interval`, "write INTERVAL '5 minutes'")
    }
    if (type.kind === 'Integer' && 'rows' in bound) return BigInt(bound.rows)
    throw this.#fail(
      type.kind === 'Integer'
        ? 'A distance along an Integer is a whole number'
        : `RANGE with a distance needs an order by a time or an Integer, not by ${typeName(type)}`,
    )
  }

  #micros(text: string, key: TypeKind): bigint {
    const interval = readInterval(text)
    if (interval === undefined) throw this.#fail(`'${text.slice(0, 40)}' is not ${FORMS.Interval}`)
    const { months, micros } = interval
    if (months !== 0n) throw this.#fail('The length of a month varies; give the distance in days or less')
    if (micros < 0n || micros > MAX_MICROS) throw this.#fail('A distance is from 0 to 365,000 days')
    if (key === 'Date' && micros % MICROS_PER_DAY !== 0n) throw this.#fail('A distance along a Date is in whole days')
    return micros
  }

  #fail(message: string, hint?: string) {
    return this.#binding.fail('BadArguments', this.#at, message, { hint })
  }
}
