/** The different values of each group. */
import type { RawValue } from '../segment.ts'
import type { Decoded, SegmentColumns } from '../segment-columns.ts'
import { type GroupedRows, type HeldBytes, knownRows, type State } from './state.ts'
import { isIntegers, type Ordered, ranksOf, toRaw, valueAt } from './values.ts'

/** How many rows of each group have each value, as `gh_values_part` and `gh_texts_part` write it. */
export class ValueCounts implements State {
  readonly #column: number
  readonly #held: HeldBytes
  readonly #counts: (Map<Ordered, number> | undefined)[] = []
  #isInteger = false
  #areTexts = false
  #rows = 0
  #values = 0

  constructor(column: number, held: HeldBytes) {
    this.#column = column
    this.#held = held
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    this.#rows += grouped.rows
    this.#isInteger = isIntegers(decoded)
    this.#areTexts = decoded.kind === 'texts'
    const known = knownRows(columns, this.#column, grouped.rows, mask)
    const size = countRanks(decoded)
    if (size * grouped.groups.length <= MAX_TABLE) this.#addByTable(decoded, size, known, grouped)
    else this.#addByMap(decoded, known, grouped)
    if (this.#values > FEW_VALUES && this.#values * LEAST_ROWS_OF_VALUE > this.#rows)
      throw new Error('As many different values take longer than rows')
  }

  #addByTable(
    decoded: Decoded,
    size: number,
    known: Uint8Array | undefined,
    { rows, slots, groups }: GroupedRows,
  ): void {
    const ranks = ranksOf(decoded)
    const counts = new Int32Array(size * groups.length)
    for (let i = 0; i < rows; i++) {
      if (known !== undefined && known[i] === 0) continue
      const at = (slots[i] as number) * size + (ranks[i] as number)
      counts[at] = (counts[at] as number) + 1
    }
    for (let slot = 0; slot < groups.length; slot++)
      for (let rank = 0; rank < size; rank++) {
        const count = counts[slot * size + rank] as number
        if (count > 0) this.#add(groups[slot] as number, valueAt(decoded, rank), count)
      }
  }

  #addByMap(decoded: Decoded, known: Uint8Array | undefined, { rows, slots, groups }: GroupedRows): void {
    const ranks = ranksOf(decoded)
    for (let i = 0; i < rows; i++)
      if (known === undefined || known[i] === 1)
        this.#add(groups[slots[i] as number] as number, valueAt(decoded, ranks[i] as number), 1)
  }

  #add(group: number, value: Ordered, count: number): void {
    const values = this.#counts[group] ?? new Map<Ordered, number>()
    this.#counts[group] = values
    const before = values.get(value)
    if (before === undefined) {
      this.#values++
      this.#held.add(VALUE_BYTES + (typeof value === 'string' ? value.length : 0))
    }
    values.set(value, (before ?? 0) + count)
  }

  value(group: number): RawValue {
    const counts = this.#counts[group]
    if (counts === undefined) return null
    if (this.#areTexts) return JSON.stringify([...counts.keys()])
    return Array.from(counts, ([value, count]) => `${toRaw(value, this.#isInteger)}:${count}`).join(',')
  }
}

const MAX_TABLE = 2 ** 22
/** With more different values, and fewer rows for each, sorting the rows is faster: a value costs as much here as three rows there. */
const [FEW_VALUES, LEAST_ROWS_OF_VALUE] = [20_000, 4]

/** What an entry of a map takes. */
const VALUE_BYTES = 64

/** How many ranks there are between the least and the greatest; infinite for Doubles as they are. */
function countRanks(decoded: Decoded): number {
  if (decoded.kind === 'texts') return decoded.texts.length + 1
  const { column } = decoded
  return column.kind === 'numbers' ? (column.greatest - column.least) / column.unit + 1 : Number.POSITIVE_INFINITY
}
