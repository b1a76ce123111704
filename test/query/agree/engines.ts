/** The query service on both engines, with the same rows and the same statements. */
import { isList, isObject, readJson, writeJson } from '../../../packages/server/src/query/json.ts'
import { openPlace } from '../../support/engines.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { type QueryServer, type ServerOptions, startQueryServer } from '../query-server.ts'
import { COLUMNS, type Row, VIEWS } from './data.ts'

export interface BothEngines {
  /** Replaces the rows of the two tables on both engines. */
  load(a: readonly Row[], b: readonly Row[]): Promise<void>
  ask(statement: string, parameters?: Readonly<Record<string, unknown>>): Promise<Answers>
  /** For a write: the number of affected rows and the returned rows. */
  write(write: Write): Promise<Answers>
  close(): Promise<void>
}

/** A statement, or the body of an Insert call. */
export type Write = string | { readonly table: string; readonly rows: readonly Row[] }

export interface Answers {
  readonly sqlite: Answer
  readonly postgres: Answer
}

/** The rows as encoded by the service, sorted by their text unless the statement has an ORDER BY; or an error code. */
export interface Answer {
  readonly code: string | undefined
  readonly rows: readonly string[]
}

/** The clock of both servers, so that now() is the same. */
const NOW = Date.parse('2026-02-28T23:30:00.250Z')

export async function openBothEngines(): Promise<BothEngines> {
  const sqlite = await openEngine('sqlite')
  const postgres = await openEngine('postgres')
  const both = [sqlite, postgres]
  return {
    async load(a, b) {
      for (const { load } of both) await load(a, b)
    },
    async ask(statement, parameters) {
      const [one, other] = await Promise.all(both.map(({ ask }) => ask(statement, parameters)))
      if (one === undefined || other === undefined) throw new Error('An engine without an answer')
      return { sqlite: one, postgres: other }
    },
    async write(write) {
      const [one, other] = await Promise.all([written(sqlite.server, write), written(postgres.server, write)])
      return { sqlite: one, postgres: other }
    },
    async close() {
      for (const { leave } of both) await leave()
      await stopOwnPostgres()
    },
  }
}

/** The tables `a` and `b` on one engine; `options` is what follows their columns. */
export async function openEngine(
  engine: 'sqlite' | 'postgres',
  { options = '', ...service }: { readonly options?: string } & ServerOptions = {},
) {
  const { place, leave } = await openPlace(engine)
  const server = await startQueryServer(place, {
    clock: () => NOW,
    limits: { concurrency: 2, milliseconds: 10_000, perUser: 1000 },
    ...service,
  })
  const columns = COLUMNS.map(({ name, type }) => `${name} ${type}${name === 'id' ? ' PRIMARY KEY' : ''}`)
  for (const table of ['a', 'b']) await must(server, `CREATE TABLE ${table} (${columns.join(', ')})${options}`)
  for (const [view, query] of VIEWS) await must(server, `CREATE VIEW ${view} AS ${query}`)
  return {
    server,
    dataFolder: place.dataFolder,
    /** Replaces the rows of both. */
    async load(a: readonly Row[], b: readonly Row[]): Promise<void> {
      await fill(server, 'a', a)
      await fill(server, 'b', b)
    },
    ask: (statement: string, parameters?: Readonly<Record<string, unknown>>) => answer(server, statement, parameters),
    async leave() {
      await server.stop()
      await leave()
    },
  }
}

async function fill(server: QueryServer, table: string, rows: readonly Row[]): Promise<void> {
  await must(server, `DELETE FROM ${table} ALL`)
  const inserted = await server.call(`/query/${table}/insert`, rows)
  if (inserted.status !== 200) throw new Error(`The rows were refused: ${inserted.text}`)
}

async function must(server: QueryServer, statement: string): Promise<void> {
  const reply = await server.query(statement)
  if (reply.status !== 200) throw new Error(`${statement}: ${reply.text}`)
}

async function answer(
  server: QueryServer,
  statement: string,
  parameters: Readonly<Record<string, unknown>> | undefined,
): Promise<Answer> {
  const body = parameters === undefined ? statement : JSON.stringify({ Statement: statement, Parameters: parameters })
  const type = parameters === undefined ? 'text/plain; charset=utf-8' : 'application/json'
  const reply = await server.call('/query?rows=arrays', body, {
    headers: { 'content-type': type, accept: 'application/x-ndjson' },
  })
  if (reply.status !== 200) return { code: reply.json.Code ?? `status ${reply.status}`, rows: [] }
  const rows = reply.text.split('\n').slice(0, -1)
  const last = rows.at(-1)
  if (last?.startsWith('{"Error":')) return { code: JSON.parse(last).Error.Code, rows: [] }
  return { code: undefined, rows: / ORDER BY \d[^)]*$/.test(statement) ? rows : rows.sort() }
}

async function written(server: QueryServer, write: Write): Promise<Answer> {
  const reply =
    typeof write === 'string'
      ? await server.call('/query?rows=arrays', write, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
      : await server.call(`/query/${write.table}/insert?rows=arrays`, write.rows)
  if (reply.status !== 200) return { code: reply.json.Code ?? `status ${reply.status}`, rows: [] }
  const result = readJson(reply.text)
  if (!isObject(result) || !isList(result.Rows)) throw new Error(`Not the result of a write: ${reply.text}`)
  return { code: undefined, rows: [`touched ${reply.json.RowsAffected}`, ...result.Rows.map(writeJson).sort()] }
}

/** Errors that depend on which values are evaluated. */
const EVALUATION_ERRORS: ReadonlySet<string> = new Set([
  'IQL.DivisionByZero',
  'IQL.Overflow',
  'IQL.Underflow',
  'IQL.BadValue',
  'IQL.ManyRows',
  'Limit.Value',
])

export type Verdict = 'same' | 'different' | 'undecided'

/** `isTotal`: every expression is certainly evaluated. A timeout decides nothing. */
export function compare({ sqlite, postgres }: Answers, isTotal: boolean): Verdict {
  const codes = [sqlite.code, postgres.code]
  if (codes.includes('Limit.Time')) return 'undecided'
  if (sqlite.code !== postgres.code) {
    const isEvaluationError = codes.every((code) => code === undefined || EVALUATION_ERRORS.has(code))
    // If both fail, they may have evaluated the rows in a different order.
    const isFailed = codes.every((code) => code !== undefined)
    return isEvaluationError && (isFailed || !isTotal) ? 'undecided' : 'different'
  }
  const isSame =
    sqlite.rows.length === postgres.rows.length && sqlite.rows.every((row, at) => row === postgres.rows[at])
  return isSame ? 'same' : 'different'
}

/** Errors of which a write may encounter any one first. */
const WRITE_ERRORS: ReadonlySet<string> = new Set([
  ...EVALUATION_ERRORS,
  'Data.UniqueViolation',
  'IQL.NotNull',
  'IQL.RowTwice',
])

/** A write that fails on both engines may fail with different codes, depending on what is checked first. */
export function compareWrites(answers: Answers, isTotal: boolean): Verdict {
  const { sqlite, postgres } = answers
  if (sqlite.code !== undefined && postgres.code !== undefined && sqlite.code !== postgres.code)
    return WRITE_ERRORS.has(sqlite.code) && WRITE_ERRORS.has(postgres.code) && !isTotal ? 'undecided' : 'different'
  return compare(answers, isTotal)
}
