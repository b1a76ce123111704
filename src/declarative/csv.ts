/** Reads CSV (RFC 4180) as a stream of rows; an empty field is NULL, a quoted empty one is empty text. */
import { createReadStream } from 'node:fs'

export type CsvRow = readonly (string | null)[]

export class BadCsv extends Error {
  override name = 'BadCsv'
}

export async function* readCsvFile(path: string): AsyncGenerator<CsvRow> {
  yield* readCsv(createReadStream(path, { encoding: 'utf8', highWaterMark: 256 * 1024 }))
}

export async function* readCsv(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<CsvRow> {
  const reader = new CsvReader()
  let first = true
  for await (const chunk of chunks) {
    yield* reader.push(first ? chunk.replace(/^\uFEFF/, '') : chunk)
    first = false
  }
  yield* reader.end()
}

/** `after-quote` has seen a quote inside a quoted field: the end of the field, or half of a doubled quote. */
type State = 'start' | 'plain' | 'quoted' | 'after-quote'

class CsvReader {
  #state: State = 'start'
  #field = ''
  #row: (string | null)[] = []
  #line = 1
  #sawReturn = false

  push(chunk: string): CsvRow[] {
    const rows: CsvRow[] = []
    for (const character of chunk) {
      const row = this.#take(character)
      if (row !== undefined) rows.push(row)
    }
    return rows
  }

  end(): CsvRow[] {
    if (this.#state === 'quoted') throw new BadCsv(`line ${this.#line}: a quoted field does not end`)
    return this.#row.length > 0 || this.#state !== 'start' ? [this.#endRow()] : []
  }

  #take(character: string): CsvRow | undefined {
    const afterReturn = this.#sawReturn
    this.#sawReturn = false
    if (character === '\n') this.#line++
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'after-quote'
      else this.#field += character
      return undefined
    }
    switch (character) {
      case '\n':
        return afterReturn ? undefined : this.#endLine()
      case '\r':
        this.#sawReturn = true
        return this.#endLine()
      case ',':
        this.#endField()
        return undefined
      case '"':
        return this.#takeQuote()
      default:
        if (this.#state === 'after-quote') throw new BadCsv(`line ${this.#line}: text after a closing quote`)
        this.#state = 'plain'
        this.#field += character
        return undefined
    }
  }

  #takeQuote(): undefined {
    if (this.#state === 'plain')
      throw new BadCsv(`line ${this.#line}: a quote inside a field that does not begin with one`)
    if (this.#state === 'after-quote') this.#field += '"'
    this.#state = 'quoted'
  }

  /** A line without a character is no row. */
  #endLine(): CsvRow | undefined {
    return this.#row.length === 0 && this.#state === 'start' ? undefined : this.#endRow()
  }

  #endRow(): CsvRow {
    this.#endField()
    const row = this.#row
    this.#row = []
    return row
  }

  #endField(): void {
    this.#row.push(this.#state === 'start' ? null : this.#field)
    this.#field = ''
    this.#state = 'start'
  }
}
