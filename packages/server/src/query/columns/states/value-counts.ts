/** The different values of each group. */
import type { RawValue } from '../segment.ts'
import type { DecodedTexts, SegmentColumns } from '../segment-columns.ts'
import { NumberCounts } from './number-counts.ts'
import { type GroupedRows, type HeldBytes, knownRows, type State, type WriteRun } from './state.ts'

/** How many rows of each group have each number (value-run.ts); or its different texts, as `gh_texts_part` writes them. */
export class ValueCounts implements State {
  readonly #column: number
  readonly #numbers: NumberCounts
  readonly #texts: GroupTexts

  constructor(column: number, held: HeldBytes) {
    this.#column = column
    this.#numbers = new NumberCounts(held)
    this.#texts = new GroupTexts(held)
  }

  canAdd(columns: SegmentColumns): boolean {
    return columns.stored(this.#column) !== undefined
  }

  add(columns: SegmentColumns, grouped: GroupedRows, mask: Uint8Array | undefined): void {
    const decoded = columns.decode(this.#column)
    const known = knownRows(columns, this.#column, grouped.rows, mask)
    if (decoded.kind === 'numbers') this.#numbers.add(decoded, known, grouped)
    else this.#texts.add(decoded, known, grouped)
  }

  value(group: number, _which: 0 | 1, write: WriteRun): RawValue {
    const run = this.#numbers.run(group)
    return run === undefined ? this.#texts.value(group) : write(run)
  }
}

/** A table with a byte for each is faster than a set. */
const MAX_TABLE = 2 ** 22

/** `add` says whether a number below the size is new. */
function createSeen(size: number): { readonly add: (key: number) => boolean } {
  if (size > MAX_TABLE) {
    const keys = new Set<number>()
    return {
      add: (key) => {
        const before = keys.size
        return keys.add(key).size > before
      },
    }
  }
  const table = new Uint8Array(size)
  return {
    add: (key) => {
      const isNew = table[key] === 0
      table[key] = 1
      return isNew
    },
  }
}

/** With more different texts, and fewer rows for each, sorting the rows is faster: a text costs as much here as three rows there. */
const [FEW_TEXTS, LEAST_ROWS_OF_TEXT] = [20_000, 4]
/** What an entry of a set takes. */
const TEXT_BYTES = 64

class GroupTexts {
  readonly #held: HeldBytes
  readonly #texts: (Set<string> | undefined)[] = []
  #rows = 0
  #count = 0

  constructor(held: HeldBytes) {
    this.#held = held
  }

  add({ codes, texts }: DecodedTexts, known: Uint8Array | undefined, { rows, slots, groups }: GroupedRows): void {
    this.#rows += rows
    const seen = createSeen(groups.length * texts.length)
    for (let i = 0; i < rows; i++) {
      if (known !== undefined && known[i] === 0) continue
      const [slot, code] = [slots[i] as number, codes[i] as number]
      if (seen.add(slot * texts.length + code)) this.#addText(groups[slot] as number, texts[code] ?? '')
    }
    if (this.#count > FEW_TEXTS && this.#count * LEAST_ROWS_OF_TEXT > this.#rows)
      throw new Error('As many different texts take longer than rows')
  }

  #addText(group: number, text: string): void {
    const texts = this.#texts[group] ?? new Set<string>()
    this.#texts[group] = texts
    if (texts.has(text)) return
    texts.add(text)
    this.#count++
    this.#held.add(TEXT_BYTES + text.length)
  }

  value(group: number): RawValue {
    const texts = this.#texts[group]
    return texts === undefined ? null : JSON.stringify([...texts])
  }
}
