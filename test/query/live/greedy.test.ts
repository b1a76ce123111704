/** One user fills the memory for live results and does not read, on either transport: others go on, and so does the server. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import { openPlace } from '../../support/engines.ts'
import { type RunningProcess, serveProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { ModelClient, openEvents, openStream, type Transport } from './model-client.ts'

const LIVE_BYTES = 16_000_000
const PATIENCE_MS = 20_000

describe('a user who fills the memory for live results and does not read', () => {
  let server: RunningProcess
  let leave: () => Promise<void>
  let admin: string
  let alice: string
  const opened: Transport[] = []
  before(async () => {
    const opening = await openPlace('sqlite')
    leave = opening.leave
    const flags = ['--data', opening.place.dataFolder, '--live-bytes', String(LIVE_BYTES), '--stream-drain-time', '0']
    server = await serveProcess(['--demo', ...flags])
    admin = (await signIn(server, ADMIN)).access_token
    alice = (await signIn(server)).access_token
    await query("CREATE TABLE pile (id Integer PRIMARY KEY, v Integer NOT NULL) READ SCOPE 'Platform/Market'")
    await insert(0, 100)
  })
  after(async () => {
    for (const transport of opened) transport.close()
    await server.stop()
    await leave()
  })

  const query = async (statement: string): Promise<void> => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'text/plain' },
      body: statement,
    })
    assert.equal(reply.status, 200, await reply.text())
  }
  const insert = (from: number, count: number): Promise<void> =>
    query(`INSERT INTO pile VALUES ${Array.from({ length: count }, (_row, n) => `(${from + n}, 0)`).join(', ')}`)
  const open = async (kind: 'stream' | 'events', token: string): Promise<Transport> => {
    const options = { port: server.port, token }
    const transport = kind === 'events' ? openEvents(options) : await openStream('PlatformJson', options)
    opened.push(transport)
    return transport
  }
  const client = (text: string): ModelClient =>
    new ModelClient({ text, parameters: {}, user: 'alice', tables: [], method: 'keys', isOrdered: false }, 50, () => {})
  const liveBytes = async (): Promise<number> => {
    const text = await (
      await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers: { authorization: `Bearer ${admin}` } })
    ).text()
    return Number(/^gatehouse_live_bytes (\d+)/m.exec(text)?.[1])
  }

  for (const kind of ['stream', 'events'] as const) {
    test(`as ${kind === 'stream' ? 'subscriptions of a stream' : 'server-sent events'}`, async () => {
      const greedy: { readonly client: ModelClient; readonly transport: Transport }[] = []
      for (const n of [1, 2]) {
        const statement = client(`SELECT id, ${n} AS n, rpad('${kind}', 75000, 'y') AS t FROM pile WHERE id < 50000`)
        const transport = await open(kind, alice)
        transport.pause()
        await transport.subscribe(statement)
        greedy.push({ client: statement, transport })
      }
      await until('they fill the memory', PATIENCE_MS, async () => (await liveBytes()) > LIVE_BYTES / 4)
      // The results grow beyond the available memory while no client reads them.
      for (let from = 100; from < 160; from += 5) await insert(from, 5)
      const others: ModelClient[] = []
      for (let n = 0; n < 9; n++) {
        const other = client(`SELECT v, ${n} AS n FROM pile WHERE id = 1`)
        others.push(other)
        await (await open(n % 2 === 0 ? 'stream' : 'events', n % 3 === 0 ? alice : admin)).subscribe(other)
      }
      const agree = async (v: number): Promise<void> => {
        await query(`UPDATE pile SET v = ${v} WHERE id = 1`)
        await until('the others hold the change', PATIENCE_MS, () =>
          others.every(({ applier, ended, failure }, n) => {
            if (failure !== undefined || ended !== undefined) throw failure ?? new Error(ended)
            return applier.isWhole && JSON.stringify(applier.rows) === JSON.stringify([{ v, n }])
          }),
        )
      }
      await agree(1)
      for (let from = 160; from < 200; from += 10) {
        await insert(from, 10)
        await agree(from)
      }
      assert.ok((await liveBytes()) <= LIVE_BYTES, `${await liveBytes()} bytes`)
      for (const { transport } of greedy) transport.resume()
      await until('the greedy user learns of it', PATIENCE_MS, () =>
        greedy.some(({ client }) => client.ended !== undefined),
      )
      const ended = greedy.flatMap(({ client }) => client.ended ?? [])
      for (const reason of ended) assert.match(reason, /Limited memory|Limit\.Memory/)
      await agree(2)
      assert.equal(server.child.exitCode, null, 'the server is the one that was started')
      const { stdout, stderr } = server.output()
      assert.doesNotMatch(stdout + stderr, /RangeError|"level":(50|60)/)
      for (const transport of opened.splice(0)) transport.close()
      await query('DELETE FROM pile WHERE id >= 100')
    })
  }
})
