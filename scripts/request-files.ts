/**
 * Lists the source files that a warm request runs through, each with its functions: `node scripts/request-files.ts [NAME …]`, with the
 * names of `requests` below. Functions that also run while the server is idle, as those of timers, are left out.
 */
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bearer, post, signIn } from '../test/support/demo-user.ts'
import { openPlace } from '../test/support/engines.ts'
import { startTestServer } from '../test/support/server.ts'
import { connect } from '../test/support/stream-client.ts'
import { WireSession } from '../test/support/wire-session.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const WARM_UP = 20
const ROUNDS = 12
/** Longer than a request takes, so that a timer that can run within one runs here too. */
const IDLE_MS = 100

const { place, leave } = await openPlace('sqlite')
const server = await startTestServer(place, { flags: { '--demo': 'true', '--wire-port': '0' } })
const { access_token: token } = await signIn(server)
const url = `http://127.0.0.1:${server.port}`
const headers = { ...bearer(token).headers, 'Content-Type': 'application/json' }
const stream = await connect(server.port)
const psql = await WireSession.open(server.wirePort ?? 0, 'alice', token)
let transaction = 0

const requests: Readonly<Record<string, () => Promise<unknown>>> = {
  select: () => postJson('/Query/trades/Select', [{ ColumnName: 'id', Operator: '=', Value: 3 }]),
  statement: () => postJson('/Query', { statement: 'SELECT * FROM trades WHERE id = 3' }),
  psql: () => psql.query('SELECT * FROM trades WHERE id = 3'),
  'psql-long': () => psql.query('SELECT * FROM trades'),
  'psql-extended': () => psql.run('SELECT * FROM trades WHERE id = $1', ['3']),
  token: async () => {
    const fields = { grant_type: 'client_credentials', client_id: 'demo-service', client_secret: 'demo-service-secret' }
    await (await post(server, '/connect/token', fields)).text()
  },
  authToken: () =>
    stream.request({
      Controller: 'Auth',
      Topic: 'AuthToken',
      TransactionID: ++transaction,
      Data: { Provider: 'Bearer', AccessToken: token },
    }),
}

const names = process.argv.slice(2)
const idle = await runFunctions(() => delay(IDLE_MS))
const background = new Set(idle.flatMap((ran) => [...ran.keys()]))
for (const [name, request] of Object.entries(requests)) {
  if (names.length > 0 && !names.includes(name)) continue
  const [first, ...further] = await runFunctions(request)
  const files = new Map<string, string[]>()
  for (const [key, { file, called }] of first ?? []) {
    if (background.has(key) || !further.every((ran) => ran.has(key))) continue
    files.set(file, [...(files.get(file) ?? []), called])
  }
  console.log(`${name}: ${files.size} files`)
  for (const [file, called] of [...files].sort()) console.log(`  ${file}: ${called.join(' ')}`)
}
psql.close()
stream.socket.close()
await server.stop()
await leave()
process.exit(0)

async function postJson(path: string, body: object): Promise<void> {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(await response.text())
  await response.text()
}

interface Ran {
  readonly file: string
  readonly called: string
}

/** The functions that each round runs, by their places. */
async function runFunctions(request: () => Promise<unknown>): Promise<Map<string, Ran>[]> {
  for (let round = 0; round < WARM_UP; round++) await request()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const rounds: Map<string, Ran>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await session.post('Profiler.takePreciseCoverage')
    await request()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = new Map<string, Ran>()
    for (const { url: script, functions } of result) {
      if (!/^file:.*\/src\//.test(script)) continue
      const file = relative(root, fileURLToPath(script))
      for (const { functionName, ranges } of functions) {
        const [range] = ranges
        if (range !== undefined && range.count > 0)
          ran.set(`${file}:${range.startOffset}`, { file, called: functionName || '(anonymous)' })
      }
    }
    rounds.push(ran)
  }
  session.disconnect()
  return rounds
}
