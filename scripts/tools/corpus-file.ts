/** The files of test/wire/corpus: a line of JSON for each statement that a client sent, with the answer of a real PostgreSQL. */
import { readFile, writeFile } from 'node:fs/promises'

/** Of an answer, as text: longer ones are cut, and `rowCount` says how many rows there were. */
const MOST_ROW_BYTES = 24 * 1024

export interface CorpusColumn {
  readonly name: string
  /** The OID of its type, and the type modifier, -1 for none. */
  readonly type: number
  readonly modifier: number
}

export interface CorpusResult {
  /** Absent where the statement returns no rows. */
  readonly columns?: readonly CorpusColumn[]
  /** Absent where the client only described the statement. Values in PostgreSQL's text form. */
  readonly rows?: readonly (readonly (string | null)[])[]
  /** Only where `rows` is cut. */
  readonly rowCount?: number
  /** Of CommandComplete, such as `SELECT 3`. */
  readonly tag?: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** `recorded`: a real client sent it. `modelled`: we wrote it after what the tool asks for, since the tool itself cannot be run here. */
export type CorpusSource = 'recorded' | 'modelled'

export interface CorpusLine extends CorpusResult {
  readonly text: string
  readonly source: CorpusSource
  readonly protocol: 'simple' | 'extended'
  /** The client wanted at least one column in binary. */
  readonly binary?: true
  /** The types as PostgreSQL has them; `declared` is what the client said in Parse, 0 where it left it to the server. */
  readonly parameters?: readonly CorpusParameter[]
  /** Results of the further statements of a Query message with several. */
  readonly further?: readonly CorpusResult[]
}

export interface CorpusParameter {
  readonly type: number
  readonly declared: number
  readonly value: string | null
}

/** One line for each text with its parameters; the first answer stays. */
export class CorpusLines {
  readonly #lines = new Map<string, CorpusLine>()
  readonly #source: CorpusSource

  constructor(source: CorpusSource = 'recorded') {
    this.#source = source
  }

  add(sent: Omit<CorpusLine, 'source'>): void {
    const line: CorpusLine = { source: this.#source, ...sent }
    const values = line.parameters?.map(({ value }) => value) ?? []
    const key = JSON.stringify([line.text, values])
    const known = this.#lines.get(key)
    if (known === undefined || (known.rows === undefined && line.rows !== undefined)) this.#lines.set(key, line)
  }

  get size(): number {
    return this.#lines.size
  }

  async write(file: string): Promise<void> {
    const all = [...this.#lines.values()]
    const executed = new Set(all.filter(isExecuted).map(({ text }) => text))
    const kept = all.filter((line) => isExecuted(line) || !executed.has(line.text))
    const lines = kept.map((line) => `${JSON.stringify(cutAll(line))}\n`)
    await writeFile(file, lines.join(''))
  }
}

export async function readCorpus(file: string | URL): Promise<CorpusLine[]> {
  const text = await readFile(file, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): CorpusLine => JSON.parse(line))
}

/** Otherwise the client only described it. */
function isExecuted({ rows, tag, error }: CorpusLine): boolean {
  return rows !== undefined || tag !== undefined || error !== undefined
}

function cutAll(line: CorpusLine): CorpusLine {
  return line.further === undefined ? cut(line) : { ...cut(line), further: line.further.map(cut) }
}

function cut<Result extends CorpusResult>(result: Result): Result {
  if (result.rows === undefined) return result
  let bytes = 0
  const kept = result.rows.findIndex((row) => {
    bytes += JSON.stringify(row).length
    return bytes > MOST_ROW_BYTES
  })
  return kept === -1 ? result : { ...result, rows: result.rows.slice(0, kept), rowCount: result.rows.length }
}
