/** Calls on a table that need no statement: select, insert, update, delete, and uploads in pieces. */
import { type Http, withSearch } from './http.ts'
import { type CallOptions, type Result, type Row, readResult, type WriteOptions } from './query.ts'
import { random } from './random.ts'
import { encode, encodeMembers } from './values.ts'

/** One condition as the service takes it; see docs/query.md for the operators. */
export type Criterion =
  | { readonly ColumnName: string; readonly Operator: string; readonly Value?: unknown }
  | { readonly Or: readonly Criterion[] }
  | { readonly And: readonly Criterion[] }
  | { readonly Not: Criterion }

/**
 * Conditions by column, which must all be true: a value, a list of values, or operators with values. Or a list of
 * criteria, for `Or` and `Not`.
 *
 * @example
 * ```ts
 * const where: Where = { symbol: ['ACME', 'BOLT'], venue: null, price: { '>=': 40, '<': 50 } }
 * ```
 */
export type Where<R = Row> = { readonly [Name in keyof R]?: unknown } | readonly Criterion[]

/** Which rows and columns. */
export interface SelectOptions<R = Row> extends CallOptions {
  readonly where?: Where<R> | undefined
  /** All by default. */
  readonly columns?: readonly (keyof R & string)[] | undefined
  /** Names of columns; `-price` is descending. */
  readonly orderBy?: string | readonly string[] | undefined
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
}

/** Options of an upload. */
export interface UploadOptions extends WriteOptions {
  /** Rows of a piece; 1,000 by default. */
  readonly rows?: number | undefined
  /** Called after each piece. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined
}

/** How far an upload is. */
export interface UploadProgress {
  readonly rows: number
  readonly pieces: number
}

/**
 * A table by name.
 *
 * @example
 * ```ts
 * const trades = gate.table<Trade>('trades')
 * const { rows } = await trades.select({ where: { symbol: 'ACME' }, orderBy: '-executed_at', limit: 50 })
 * await trades.insert({ id: 9, symbol: 'ACME', price: '101.25' })
 * await trades.update({ id: 9 }, { price: '101.30' })
 * await trades.delete({ id: 9 })
 * ```
 */
export class Table<R = Row> {
  readonly #http: Http
  readonly #path: string

  constructor(http: Http, name: string) {
    this.#http = http
    this.#path = `/Query/${encodeURIComponent(name)}/`
  }

  /** Rows by criteria, page by page if there are many: pass `next` as `after`. */
  async select({ where = [], columns, orderBy, limit, after, signal }: SelectOptions<R> = {}): Promise<Result<R>> {
    const orderby = orderBy && [orderBy].flat().join(',')
    const call = withSearch('Select', { columns: columns?.join(','), orderby, limit, after })
    return this.#call(call, toCriteria(where), { signal })
  }

  /** All rows of all pages. */
  async *rows(options: SelectOptions<R> = {}): AsyncGenerator<R, void, undefined> {
    let after = options.after
    do {
      const page = await this.select({ ...options, after })
      yield* page.rows
      after = page.next
    } while (after !== undefined)
  }

  /** One row or several, all or none. The result has the rows with their defaults. */
  insert(rows: Partial<R> | readonly Partial<R>[], options: WriteOptions = {}): Promise<Result<R>> {
    return this.#write('Insert', (Array.isArray(rows) ? rows : [rows]).map(encodeMembers), options)
  }

  /** Changes the rows that match. */
  update(where: Where<R>, assignments: Partial<R>, options: WriteOptions = {}): Promise<Result<R>> {
    return this.#write('Update', { Criteria: toCriteria(where), Assignments: encodeMembers(assignments) }, options)
  }

  /** Deletes the rows that match. */
  delete(where: Where<R>, options: WriteOptions = {}): Promise<Result<R>> {
    return this.#write('Delete', toCriteria(where), options)
  }

  /**
   * Inserts any number of rows in pieces, each of which is inserted or not as a whole. Repeated with the same rows and the
   * same key it continues where it ended.
   *
   * @example
   * ```ts
   * await gate.table('trades').upload(readCsv(file), { idempotencyKey: file.name, onProgress: ({ rows }) => show(rows) })
   * ```
   */
  async upload(
    rows: Iterable<Partial<R>> | AsyncIterable<Partial<R>>,
    { rows: size = 1000, idempotencyKey = random(), onProgress, signal }: UploadOptions = {},
  ): Promise<UploadProgress> {
    let [sent, pieces] = [0, 0]
    let piece: Partial<R>[] = []
    const flush = async (): Promise<void> => {
      await this.insert(piece, { idempotencyKey: `${idempotencyKey}:${pieces}`, signal })
      sent += piece.length
      pieces++
      piece = []
      onProgress?.({ rows: sent, pieces })
    }
    for await (const row of rows) if (piece.push(row) >= size) await flush()
    if (piece.length > 0) await flush()
    return { rows: sent, pieces }
  }

  #write(call: string, body: unknown, { idempotencyKey = random(), signal }: WriteOptions) {
    return this.#call(call, body, { signal, headers: { 'idempotency-key': idempotencyKey } })
  }

  async #call(call: string, body: unknown, options: CallOptions & { headers?: Record<string, string> }) {
    const request = { method: 'POST', body, idempotent: true, ...options }
    return readResult<R>(this.#http, await this.#http.request(this.#path + call, request), undefined, options.signal)
  }
}

/**
 * A table without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const trades = createTable<Trade>(new Http(url, { auth }), 'trades')
 * ```
 */
export function createTable<R = Row>(http: Http, name: string): Table<R> {
  return new Table<R>(http, name)
}

function toCriteria(where: object): readonly unknown[] {
  if (Array.isArray(where)) return where
  return Object.entries(where).flatMap(([ColumnName, condition]) => {
    if (Array.isArray(condition)) return [{ ColumnName, Operator: 'in', Value: condition.map(encode) }]
    const Value = encode(condition)
    if (typeof Value !== 'object' || Value === null) return [{ ColumnName, Operator: '=', Value }]
    return Object.entries(Value).map(([Operator, operand]) => ({
      ColumnName,
      Operator,
      Value: Array.isArray(operand) ? operand.map(encode) : encode(operand),
    }))
  })
}
