/** Lists the source files that a warm request runs through, in the order of their first call: `node scripts/request-files.ts [query|token|refresh|auth|live]`. */
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bearer, post, signIn } from '../test/support/demo-user.ts'
import { openPlace } from '../test/support/engines.ts'
import { startTestServer } from '../test/support/server.ts'
import { connect } from '../test/support/stream-client.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const ROUNDS = 12

const { place, leave } = await openPlace('sqlite')
const server = await startTestServer(place, { flags: { '--demo': 'true' } })
const { access_token: token } = await signIn(server)
const url = `http://127.0.0.1:${server.port}`

const query = async () => {
  const body = JSON.stringify([{ ColumnName: 'id', Operator: '=', Value: 3 }])
  const headers = { ...bearer(token).headers, 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/Query/trades/Select`, { method: 'POST', headers, body })
  await response.text()
}
const clientCredentials = async () => {
  const fields = { grant_type: 'client_credentials', client_id: 'demo-service', client_secret: 'demo-service-secret' }
  await (await post(server, '/connect/token', fields)).text()
}
const stream = await connect(server.port)
let transaction = 0
const authToken = async () => {
  await stream.request({
    Controller: 'Auth',
    Topic: 'AuthToken',
    TransactionID: ++transaction,
    Data: { Provider: 'Bearer', AccessToken: token },
  })
}

for (const [name, request] of Object.entries({ query, token: clientCredentials, authToken })) {
  if (process.argv[2] !== undefined && process.argv[2] !== name) continue
  const files = await listFiles(request)
  console.log(`${name}: ${files.length} files\n${files.map((file) => `  ${file}`).join('\n')}`)
}
stream.socket.close()
await server.stop()
await leave()
process.exit(0)

/** Files of which a function ran in every round: those of timers and other background work drop out. */
async function listFiles(request: () => Promise<void>): Promise<string[]> {
  for (let round = 0; round < 20; round++) await request()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const rounds: Set<string>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await session.post('Profiler.takePreciseCoverage')
    await request()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.filter(
      ({ url: file, functions }) =>
        /^file:.*\/src\//.test(file) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
    )
    rounds.push(new Set(ran.map(({ url: file }) => relative(root, fileURLToPath(file)))))
  }
  session.disconnect()
  return [...(rounds[0] ?? [])].filter((file) => rounds.every((set) => set.has(file))).sort()
}
