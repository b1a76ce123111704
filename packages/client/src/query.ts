/** Queries: rows, a stream of rows, Arrow, CSV, or the whole result. */
import { asObject, problemError, QueryError } from './errors.ts'
import { type Http, read, type Search, withSearch } from './http.ts'
import { type LicenceLabel, readLabels } from './licence-labels.ts'
import type { Part, Statement } from './statement.ts'
import { tagged, statement as toStatement } from './statement.ts'
import type { Column } from './values.ts'

/** A row whose columns are not known to the compiler. */
export type Row = Record<string, unknown>

/** Options of every call. */
export interface CallOptions {
  /** Ends the request; the server stops the query too. */
  readonly signal?: AbortSignal | undefined
}

/** Options of a statement or call that writes. */
export interface WriteOptions extends CallOptions {
  /**
   * The write is made once, however often it is sent with this key. Calls on a table generate a key by default, so
   * that a retry after a lost reply does not write twice; give one to make a repetition by your program safe as well. A statement
   * that writes is retried only with a key.
   */
  readonly idempotencyKey?: string | undefined
}

/** Options of one request of a query. */
export interface QueryOptions extends CallOptions {
  /** More of the query string, as docs/query.md lists it: `{ rows: 'arrays', 'p.symbol': 'ACME' }`. */
  readonly search?: Search | undefined
}

/** What the server says about a result. */
export interface Result<R> {
  readonly columns: readonly Column[]
  readonly rows: R[]
  /** For statements that write. */
  readonly rowsAffected: number | undefined
  /** The service has a limit of rows for one result, and there are more. */
  readonly truncated: boolean
  /** Where the next page begins, if there is one. */
  readonly next: string | undefined
  /** What is delayed, or left out; nothing: all rows are here, as they are now. */
  readonly licences: readonly LicenceLabel[]
  /** Milliseconds on the server. */
  readonly elapsed: number
  readonly requestId: string
}

/** A result that is read as it arrives. */
export interface Batches extends AsyncGenerator<unknown[][], void, undefined> {
  /** Known before the first row, and also if there is none. */
  readonly columns: readonly Column[]
  /** What is delayed, or left out. */
  readonly licences: readonly LicenceLabel[]
  readonly requestId: string
}

/**
 * A statement that has not been sent yet. `await` it for its rows, or ask for another form.
 *
 * @example
 * ```ts
 * const rows = await gate.query<Trade>`select * from trades where symbol = ${symbol} limit 10`
 * for await (const row of gate.query<Trade>`select * from trades`.stream()) count(row)
 * const bytes = await gate.query`select * from trades`.arrow()
 * ```
 */
export class Query<R = Row> implements PromiseLike<R[]> {
  readonly #http: Http
  readonly #options: WriteOptions
  readonly #text: string
  readonly #body: object

  constructor(http: Http, statement: Statement, options: WriteOptions) {
    const { text, parameters } = statement.compile()
    this.#http = http
    this.#options = options
    this.#text = text
    this.#body = { Statement: text, Parameters: parameters }
  }

  // biome-ignore lint/suspicious/noThenProperty: to be awaited is its purpose
  then<A = R[], B = never>(
    resolve?: ((rows: R[]) => A | PromiseLike<A>) | null,
    reject?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.rows().then(resolve, reject)
  }

  /** As of a promise: `await gate.query`…`.catch(() => [])`. */
  catch<B = never>(reject?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<R[] | B> {
    return this.rows().catch(reject)
  }

  /** As of a promise: `act` runs when the query is over, however it ends. */
  finally(act?: (() => void) | null): Promise<R[]> {
    return this.rows().finally(act)
  }

  /** All rows. A result that the service truncates is an error: nothing is left out silently. */
  async rows(options?: CallOptions): Promise<R[]> {
    const { rows, truncated, requestId } = await this.result(options)
    if (truncated) throw this.#truncated(requestId)
    return rows
  }

  /** The first row, or undefined. */
  async first(options?: CallOptions): Promise<R | undefined> {
    return (await this.result(options)).rows[0]
  }

  /** Rows with their columns, and what the server says about them. `after` is `next` of the page before. */
  async result(options: QueryOptions & { readonly after?: string | undefined } = {}): Promise<Result<R>> {
    const { after, search, signal = this.#options.signal } = options
    const response = await this.response('application/json', { search: { after, ...search }, signal })
    return readResult<R>(this.#http, response, this.#text, signal)
  }

  /** Row by row, as fast as they are read: of any number of rows only a few are in memory. */
  async *stream(options: CallOptions = {}): AsyncGenerator<R, void, undefined> {
    const batches = await this.batches(options)
    const names = batches.columns.map(({ name }) => name)
    for await (const batch of batches)
      for (const values of batch) {
        const row: Row = {}
        for (let index = 0; index < names.length; index++) row[names[index] as string] = values[index]
        yield row as R
      }
  }

  /** Rows as arrays, as many at a time as have arrived: for tables and charts of any size. Read them once. */
  async batches(options: CallOptions = {}): Promise<Batches> {
    const { signal = this.#options.signal } = options
    const { values } = this.#http
    const search = { rows: 'arrays', header: 'columns' }
    const response = await this.response('application/x-ndjson', { search, signal })
    const items = readItems(response, this.#http, signal)
    const { value: first = [] } = await items.next()
    const { Columns, Licence } = asObject(first[0])
    const columns = values.columns(Columns)
    const requestId = response.headers.get('request-id') ?? ''
    const batches = this.#readBatches(first.slice(1), items, values.decoder(columns, true))
    return Object.assign(batches, { columns, licences: readLabels(Licence), requestId })
  }

  async *#readBatches(
    first: readonly unknown[],
    items: AsyncGenerator<readonly unknown[]>,
    decode: ((row: object) => void) | undefined,
  ): AsyncGenerator<unknown[][], void, undefined> {
    try {
      for (let batch = first; ; ) {
        const rows = batch.filter((item) => Array.isArray(item))
        if (decode !== undefined) rows.forEach(decode)
        if (rows.length > 0) yield rows
        // Rows are arrays. An object is about the result, and comes last.
        const { Error: problem, Truncated } = asObject(batch.at(-1))
        if (problem !== undefined) throw problemError(problem, { statement: this.#text })
        if (Truncated === true) throw this.#truncated()
        const next = await items.next()
        if (next.done === true) return
        batch = next.value
      }
    } finally {
      await items.return(undefined)
    }
  }

  /** An Arrow stream, for apache-arrow, DuckDB or Perspective. */
  async arrow(options: CallOptions & ProgressOptions = {}): Promise<Uint8Array> {
    return readBytes(await this.response('application/vnd.apache.arrow.stream', options), options)
  }

  /** CSV with a header line; an empty field is NULL, `""` is the empty text. */
  async csv(options: CallOptions & ProgressOptions = {}): Promise<string> {
    return new TextDecoder().decode(await readBytes(await this.response('text/csv', options), options))
  }

  /** The reply itself in any format of the service, to be stored or passed on piece by piece. */
  response(accept: string, { search = {}, signal = this.#options.signal }: QueryOptions = {}): Promise<Response> {
    const { idempotencyKey } = this.#options
    return this.#http.request(withSearch('/query', search), {
      method: 'POST',
      headers: { accept, 'idempotency-key': idempotencyKey },
      body: this.#body,
      // A write whose reply was lost may have been made: only by its key does the server know it again.
      idempotent: idempotencyKey !== undefined || /^\s*(select|with|explain|show|describe)\b/i.test(this.#text),
      statement: this.#text,
      signal,
    })
  }

  /** How the statement would be run. */
  async explain(options: CallOptions = {}): Promise<Row[]> {
    const { Parameters } = this.#body as { Parameters: never }
    return new Query(this.#http, toStatement(`explain ${this.#text}`, Parameters), this.#options).rows(options)
  }

  #truncated(requestId?: string): QueryError {
    return new QueryError('The result is too large', {
      code: 'client.truncated',
      hint: 'ask for fewer rows, or use .stream()',
      requestId,
      statement: this.#text,
    })
  }
}

/** `gate.query`: a tag for statements. */
export interface QueryTag {
  <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]): Query<R>
  <R = Row>(statement: Statement, options?: WriteOptions): Query<R>
  (options: WriteOptions): <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]) => Query<R>
}

/**
 * The tag `query` without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const query = createQuery(new Http(url, { auth }))
 * const [{ n }] = await query<{ n: number }>`select count(*) as n from trades`
 * ```
 */
export function createQuery(http: Http): QueryTag {
  return tagged<WriteOptions, Query>((statement, options) => new Query(http, statement, options), {}) as QueryTag
}

/** Reads the JSON of a result. An error after the first rows is in its last member. */
export async function readResult<R>(
  http: Http,
  response: Response,
  statement?: string,
  signal?: AbortSignal,
): Promise<Result<R>> {
  const reply = asObject(http.values.parse(await read(() => response.text(), signal)))
  if (reply.Error !== undefined) throw problemError(reply.Error, { statement })
  const columns = http.values.columns(reply.Columns)
  const rows = (reply.Rows ?? []) as Row[]
  const decode = http.values.decoder(columns)
  if (decode !== undefined) rows.forEach(decode)
  return {
    columns,
    rows: rows as R[],
    rowsAffected: reply.RowsAffected as number | undefined,
    truncated: reply.Truncated === true,
    next: reply.NextCursor as string | undefined,
    licences: readLabels(reply.Licence),
    elapsed: Number(reply.ElapsedMs),
    requestId: String(reply.RequestId),
  }
}

/** Options of a download. */
export interface ProgressOptions {
  /** Called as the bytes arrive. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

async function readBytes(
  response: Response,
  { signal, onProgress }: CallOptions & ProgressOptions,
): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of readChunks(response, signal)) {
    chunks.push(chunk)
    size += chunk.length
    onProgress?.(size)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

/** The lines of a reply, as many at a time as have arrived. */
export async function* readLines(response: Response, signal: AbortSignal | undefined): AsyncGenerator<string[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of readChunks(response, signal)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    // Never undefined: a split has at least one part.
    rest = lines.pop() as string
    yield lines
  }
}

/** Many lines are parsed at once, which is much faster; not all of a large chunk, so that a page can draw in between. */
async function* readItems(
  response: Response,
  { values }: Http,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown[], void, undefined> {
  for await (const lines of readLines(response, signal))
    while (lines.length > 0) yield values.parse(`[${lines.splice(0, 500)}]`) as unknown[]
}

/** Leaving the loop ends the request. Safari cannot iterate over a body. */
async function* readChunks(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await read(() => reader.read(), signal)
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
