/** The query service on both engines over the same rows, asked the same statements. */
import { isList, isObject, readJson, writeJson } from '../../../src/query/json.ts'
import { openPlace } from '../../support/engines.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { COLUMNS, type Row } from './data.ts'

export interface BothEngines {
  /** Puts these rows, and no others, in the two tables of both engines. */
  load(a: readonly Row[], b: readonly Row[]): Promise<void>
  ask(statement: string): Promise<Answers>
  /** The same of a write: how many rows it touched, and those that it returns. */
  write(write: Write): Promise<Answers>
  close(): Promise<void>
}

/** A statement, or the body of an Insert call. */
export type Write = string | { readonly table: string; readonly rows: readonly Row[] }

export interface Answers {
  readonly sqlite: Answer
  readonly postgres: Answer
}

/** The rows as the service writes them, one a line, in the order of their text unless the statement has one; or an error. */
export interface Answer {
  readonly code: string | undefined
  readonly rows: readonly string[]
}

/** Both servers live at this moment, so that now() is the same. */
const NOW = Date.parse('2026-02-28T23:30:00.250Z')

export async function openBothEngines(): Promise<BothEngines> {
  const sqlite = await open('sqlite')
  const postgres = await open('postgres')
  const both = [sqlite, postgres]
  return {
    async load(a, b) {
      for (const { server } of both) {
        await fill(server, 'a', a)
        await fill(server, 'b', b)
      }
    },
    async ask(statement) {
      const [one, other] = await Promise.all([answer(sqlite.server, statement), answer(postgres.server, statement)])
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

async function open(engine: 'sqlite' | 'postgres') {
  const { place, leave } = await openPlace(engine)
  const server = await startQueryServer(place, {
    clock: () => NOW,
    limits: { concurrency: 2, milliseconds: 10_000, perUser: 1000 },
  })
  const columns = COLUMNS.map(({ name, type }) => `${name} ${type}${name === 'id' ? ' PRIMARY KEY' : ''}`)
  for (const table of ['a', 'b']) await must(server, `CREATE TABLE ${table} (${columns.join(', ')})`)
  return {
    server,
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

async function answer(server: QueryServer, statement: string): Promise<Answer> {
  const reply = await server.call('/query?rows=arrays', statement, {
    headers: { 'content-type': 'text/plain; charset=utf-8', accept: 'application/x-ndjson' },
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
  if (!isObject(result) || !isList(result.Rows)) throw new Error(`No result of a write: ${reply.text}`)
  return { code: undefined, rows: [`touched ${reply.json.RowsAffected}`, ...result.Rows.map(writeJson).sort()] }
}

/** Errors that depend on the rows, and so on which values are worked out at all. */
const OF_EVALUATION: ReadonlySet<string> = new Set([
  'IQL.DivisionByZero',
  'IQL.Overflow',
  'IQL.Underflow',
  'IQL.BadValue',
  'IQL.ManyRows',
])

export type Verdict = 'same' | 'different' | 'undecided'

/** `isTotal`: every expression is surely worked out. A statement that ran out of time says nothing. */
export function compare({ sqlite, postgres }: Answers, isTotal: boolean): Verdict {
  const codes = [sqlite.code, postgres.code]
  if (codes.includes('Limit.Time')) return 'undecided'
  if (sqlite.code !== postgres.code) {
    const isOfEvaluation = codes.every((code) => code === undefined || OF_EVALUATION.has(code))
    // Where both fail, the rows may have come in another order.
    const isFailed = codes.every((code) => code !== undefined)
    return isOfEvaluation && (isFailed || !isTotal) ? 'undecided' : 'different'
  }
  const isSame =
    sqlite.rows.length === postgres.rows.length && sqlite.rows.every((row, at) => row === postgres.rows[at])
  return isSame ? 'same' : 'different'
}

/** Errors of which a write may meet one or another first. */
const OF_ORDER: ReadonlySet<string> = new Set([...OF_EVALUATION, 'Data.UniqueViolation', 'IQL.NotNull', 'IQL.RowTwice'])

/** A write that fails on both engines fails, though a value and a key may be at fault in either order. */
export function compareWrites(answers: Answers, isTotal: boolean): Verdict {
  const { sqlite, postgres } = answers
  if (sqlite.code !== undefined && postgres.code !== undefined && sqlite.code !== postgres.code)
    return OF_ORDER.has(sqlite.code) && OF_ORDER.has(postgres.code) && !isTotal ? 'undecided' : 'different'
  return compare(answers, isTotal)
}
