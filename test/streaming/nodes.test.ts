/** Nodes that share a PostgreSQL: what one takes back, the connections of the other feel; one that is cut off or killed harms nobody. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { bearer, identify, post, signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { serveProcess } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { openSwitch, type Switch } from '../support/switch.ts'

const FLAGS = { '--demo': 'true', '--stream-drain-time': '0.1' }

describe('two nodes on one PostgreSQL', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let secondFolder: string
  let flags: Record<string, string>
  /** The way of the second node to the database. */
  let wire: Switch
  const nodes: TestServer[] = []
  before(async () => {
    ;({ place, leave } = await openPlace('postgres'))
    secondFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const masterKey = randomBytes(32).toString('base64')
    flags = { ...FLAGS, '--master-key': masterKey, '--issuer': 'http://localhost:5999' }
    const database = new URL(place.databaseUrl)
    wire = await openSwitch(Number(database.port))
    nodes.push(await startTestServer(place, { flags }))
    database.port = String(wire.port)
    nodes.push(await startTestServer({ ...place, dataFolder: secondFolder, databaseUrl: database.href }, { flags }))
  })
  after(async () => {
    for (const node of nodes) await node.stop()
    wire.close()
    await rm(secondFolder, { recursive: true })
    await leave()
    await stopOwnPostgres()
  })

  function bothNodes(): [TestServer, TestServer] {
    const [a, b] = nodes
    assert.ok(a !== undefined && b !== undefined)
    return [a, b]
  }

  test('a grant revoked on one ends its connection on the other within a second', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const client = await connect(b.port, bearer(tokens.access_token))
    assert.equal((await identify(client)).Result, 'Success')
    const started = performance.now()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    assert.equal((await client.closed).code, 4000)
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
  })

  test('a token revoked on one loses its rights on the other within a second', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(b)
    const client = await connect(b.port, bearer(tokens.access_token))
    client.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
    assert.equal(((await client.next()).Data as { Result: string }).Result, 'Success')
    const started = performance.now()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.access_token })
    assert.equal(((await client.next()).Data as { Result: string }).Result, 'Reject')
    assert.ok(performance.now() - started < 1_000, `${performance.now() - started} ms`)
    client.socket.terminate()
  })

  test('a node that was cut off from the database for ten seconds catches up when it is back', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const client = await connect(b.port, bearer(tokens.access_token))
    wire.cut()
    await post(a, '/connect/revocation', { client_id: 'demo-cli', token: tokens.refresh_token })
    await pause(10_000)
    assert.equal(client.socket.readyState, client.socket.OPEN)
    wire.mend()
    assert.equal((await client.closed).code, 4000)
  })

  test('a node that is killed takes its own connections with it, no others', async () => {
    const [a] = bothNodes()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
    const args = Object.entries({ ...flags, '--data': folder, '--database-url': place.databaseUrl }).flat()
    const doomed = await serveProcess(args.filter((arg) => arg !== 'true'))
    const tokens = await signIn(a)
    const lost = await connect(doomed.port, bearer(tokens.access_token))
    const kept = await connect(a.port, bearer(tokens.access_token))
    await doomed.stop('SIGKILL')
    assert.equal((await lost.closed).code, 1006)
    assert.equal((await identify(kept)).Result, 'Success')
    kept.socket.terminate()
    await rm(folder, { recursive: true })
  })

  test('a node that stops closes with 1012; the other serves on', async () => {
    const [a, b] = bothNodes()
    const tokens = await signIn(a)
    const leaving = await connect(b.port, bearer(tokens.access_token))
    const staying = await connect(a.port, bearer(tokens.access_token))
    await b.stop()
    assert.equal((await leaving.closed).code, 1012)
    assert.equal((await identify(staying)).Result, 'Success')
    await connect(a.port, bearer(tokens.access_token))
  })
})
