/** The query corpus over PostgreSQL's protocol: the results and errors of HTTP. A few files in `npm test`, all in `npm run test:all`. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { floatText } from '../../packages/server/src/query/types/double.ts'
import { type Block, readCorpus } from '../query/corpus.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN, onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { type Answer, texts, WireSession } from '../support/wire-session.ts'

const folder = new URL('../query/corpus/', import.meta.url)
const SAMPLE = ['casts.txt', 'zones.txt', 'write.txt']
const files = readdirSync(folder).filter((name) => name.endsWith('.txt') && (IS_LONG_RUN || SAMPLE.includes(name)))
const FLAGS = { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true', '--limit-exempt': '127.0.0.1' }
/** Commands, the catalogue and several statements, which HTTP refuses. */
const OTHERWISE = /^(?:BEGIN|COMMIT|ROLLBACK|COPY|SET)\b|\bpg_|\binformation_schema\b|;\s*\S/i
/** In a pattern without ESCAPE a backslash is the escape character, as in PostgreSQL. */
const LIKE_BACKSLASH = /\bLIKE '[^']*\\[^']*'(?! ESCAPE)/i
/** What clients of PostgreSQL may do. */
const ALLOWED = new Set(['IQL.DuplicateColumn', 'IQL.ParameterType', 'IQL.MissingParameter'])

onEveryEngineInLongRuns('the corpus over the wire', (place, engine) => {
  let http: TestServer
  let wire: TestServer
  let token: string
  let session: WireSession
  let leave: () => Promise<void>
  before(async () => {
    const other = await openPlace(engine)
    leave = other.leave
    http = await startTestServer(place(), { flags: FLAGS })
    wire = await startTestServer(other.place, { flags: FLAGS })
    token = (await signIn(http, ADMIN)).access_token
    session = await WireSession.open(wire.wirePort ?? 0, 'token', (await signIn(wire, ADMIN)).access_token)
  })
  after(async () => {
    session.close()
    await Promise.all([http.stop(), wire.stop()])
    await leave()
  })

  const ask = async (statement: string): Promise<HttpAnswer> => {
    const response = await fetch(`http://127.0.0.1:${http.port}/query?rows=arrays&integers=strings`, {
      method: 'POST',
      body: statement,
      headers: { ...bearer(token).headers, 'content-type': 'text/plain; charset=utf-8' },
    })
    return response.json() as Promise<HttpAnswer>
  }

  /** Both begin without tables. */
  const clear = async (): Promise<void> => {
    const LISTED =
      'SELECT name, isview, ismaterialized FROM cataloguetables WHERE issystem = FALSE ORDER BY isview DESC, ismaterialized DESC'
    for (;;) {
      const rows = texts(await session.query(LISTED))
      if (rows.length === 0) return
      for (const [name, isView, isMaterialized] of rows) {
        const kind = isMaterialized === 't' ? 'MATERIALIZED VIEW' : isView === 't' ? 'VIEW' : 'TABLE'
        // One that another reads goes in the next round.
        const statement = `DROP ${kind} "${name}"`
        await Promise.all([session.query(statement), ask(statement)])
      }
    }
  }

  for (const file of files)
    test(`${file}: as over HTTP`, async () => {
      await clear()
      const faults: string[] = []
      for (const { statement, line } of readCorpus(readFileSync(new URL(file, folder), 'utf8')) as Block[]) {
        if (statement === '' || OTHERWISE.test(statement) || LIKE_BACKSLASH.test(statement)) continue
        const [expected, got] = await Promise.all([ask(statement), session.query(statement)])
        const fault = findDifference(statement, expected, got)
        if (fault !== undefined) faults.push(`line ${line}: ${statement}\n  ${fault}`)
      }
      assert.deepEqual(faults, [])
    })
})

interface HttpAnswer {
  readonly Code?: string
  readonly Position?: { readonly Offset: number }
  readonly Columns?: Readonly<Record<string, { readonly Type: string }>>
  readonly Rows?: readonly (readonly unknown[])[]
  readonly RowsAffected?: number
}

function findDifference(statement: string, http: HttpAnswer, wire: Answer): string | undefined {
  const { Code, Position, Columns = {}, Rows = [], RowsAffected } = http
  const error = wire.errors[0]
  if (Code !== undefined) {
    if (ALLOWED.has(Code)) return undefined
    const position = Position && String([...statement.slice(0, Position.Offset)].length + 1)
    const expected = `${Code} ${position}`
    const got = `${error?.D?.split(',')[0]} ${error?.P}`
    return expected === got ? undefined : `${expected} but ${got} ${error?.M}`
  }
  if (error !== undefined) return `${error.C} ${error.M}`
  if (
    RowsAffected !== undefined &&
    !wire.tags[0]?.endsWith(` ${RowsAffected}`) &&
    /^(INSERT|UPDATE|DELETE)/.test(wire.tags[0] ?? '')
  )
    return `${RowsAffected} rows but ${wire.tags}`
  const types = Object.values(Columns).map(({ Type }) => Type)
  const expected = JSON.stringify([
    Object.keys(Columns).sort(),
    Rows.map((row) => row.map((cell, index) => readText(cell, types[index] ?? ''))),
  ])
  const rows = texts(wire).map((row) =>
    row.map((cell, index) => (types[index] === 'Json' ? JSON.stringify(JSON.parse(cell ?? 'null')) : cell)),
  )
  const got = JSON.stringify([wire.columns.map(({ name }) => name).sort(), rows])
  return expected === got ? undefined : `${expected}\n  ${got}`
}

/** The text of PostgreSQL for a value in JSON. */
function readText(cell: unknown, type: string): string | null {
  // JSON cannot tell a NULL from a null within a Json.
  if (type === 'Json') return JSON.stringify(cell)
  if (cell === null) return null
  switch (type) {
    case 'Boolean':
      return cell === true ? 't' : 'f'
    case 'Double':
      return floatText(Number(cell))
    case 'Timestamp':
      return String(cell).replace('T', ' ').replace('Z', '+00')
    case 'LocalTimestamp':
      return String(cell).replace('T', ' ')
    case 'Binary':
      return `\\x${Buffer.from(String(cell), 'base64').toString('hex')}`
    default:
      return String(cell)
  }
}
