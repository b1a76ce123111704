/** `serve --workers`: several processes on one port behave as one server, and outlive the death of any of them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bearer, identify } from '../support/demo-user.ts'
import { createProofMaker } from '../support/dpop.ts'
import { onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { freshRequest, type Reply, type RequestOptions } from '../support/fresh-request.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import { startProgram } from '../support/remote-program.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const SCOPE = 'Platform/Market Platform/Trading Platform/Admin'
const DECLARED = {
  clients: ['service', 'another'].map((client_id) => ({
    client_id,
    client_secret: 'secret-of-the-service',
    grant_types: ['client_credentials'],
    response_types: [],
    scope: SCOPE,
  })),
}
const LIMIT = 1000
const MOST_STREAMS = 26

onEveryEngineInLongRuns('two workers', (place, engine) => {
  let server: RunningProcess
  let file: string
  let token: string
  const declare = (settings: object) =>
    writeFile(file, JSON.stringify({ ...DECLARED, settings: { limit_exempt: '', ...settings } }))

  before(async () => {
    file = join(place().dataFolder, 'gatehouse.json')
    await declare({
      limit_pages: `address=${LIMIT}/600`,
      brand_name: 'Before',
      query_write_wait: 0.5,
      query_per_user: 1000,
      stream_max_connections: MOST_STREAMS,
    })
    const database = place().databaseUrl === '' ? [] : ['--database-url', place().databaseUrl]
    const folder = ['--data', join(place().dataFolder, 'data'), '--config', file]
    server = await serveProcess(['--workers', '2', '--stream-drain-time', '0.1', ...folder, ...database])
    await until('all workers have started', 5000, () => logged('all workers have started').length === 1)
    token = await newToken()
    await query('CREATE TABLE ledger (id Text PRIMARY KEY, n Integer)')
  })
  after(() => server.stop())

  const send = (path: string, options?: RequestOptions) => freshRequest(server.port, path, options)
  const form = (path: string, fields: Record<string, string>) =>
    send(path, { body: new URLSearchParams(fields).toString(), type: 'application/x-www-form-urlencoded' })
  const CLIENT = { client_id: 'service', client_secret: 'secret-of-the-service' }
  const newToken = async (client = 'service'): Promise<string> => {
    const fields = { grant_type: 'client_credentials', scope: SCOPE, ...CLIENT, client_id: client }
    const { body } = await form('/connect/token', fields)
    return JSON.parse(body).access_token
  }
  const query = async (body: string) => {
    const reply = await send('/query', { token, body })
    assert.equal(reply.status, 200, reply.body)
    return reply.body
  }
  const list = async (path: string): Promise<Record<string, unknown>[]> =>
    JSON.parse((await send(path, { token })).body).items
  const lines = () =>
    server
      .output()
      .stdout.split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const logged = (message: string) => lines().filter(({ msg }) => msg === message)
  /** The processes of the workers that answer now. */
  const pids = async (): Promise<number[]> => {
    const nodes = await list('/admin/nodes')
    return nodes.map(({ node }) => Number(String(node).slice(hostname().length + 1))).toSorted()
  }
  /** One after another: while there are no other connections, they are handed out in turn. */
  const openStreams = async (count: number, accessToken = token): Promise<StreamClient[]> => {
    const streams: StreamClient[] = []
    while (streams.length < count) streams.push(await connect(server.port, bearer(accessToken)))
    return streams
  }
  const close = async (streams: readonly StreamClient[]) => {
    for (const { socket, closed } of streams) {
      socket.close()
      await closed
    }
  }

  test('connections are handed out in turn, lists show all of them, and log lines name the worker', async () => {
    const streams = await openStreams(6)
    await until('all are listed', 2000, async () => (await list('/admin/streams')).length === 6)
    const byNode = Map.groupBy(await list('/admin/streams'), ({ node }) => node)
    assert.deepEqual(
      [...byNode.values()].map(({ length }) => length),
      [3, 3],
    )
    assert.deepEqual((await list('/admin/nodes')).map(({ worker }) => worker).toSorted(), [1, 2])
    assert.ok(!(await pids()).includes(server.child.pid ?? 0), 'the supervisor is no node')
    const workers = logged('started').map(({ worker }) => worker)
    assert.deepEqual(workers.toSorted(), [1, 2])
    assert.equal(logged('declaration applied').length, 1)
    await close(streams)
  })

  test('what is declared is there on both workers when the reply comes', async () => {
    const type = 'application/json'
    for (let round = 0; round < 5; round++) {
      await query(`CREATE TABLE everywhere${round} (id Integer PRIMARY KEY)`)
      for (const _worker of [1, 2]) await query(`SELECT id FROM everywhere${round}`)
      const body = JSON.stringify({ name: `Everywhere${round}` })
      assert.equal((await send('/admin/feeds', { token, type, body })).status, 201)
      for (const _worker of [1, 2]) {
        const { status } = await send(`/feeds/Everywhere${round}/A`, { token, type, body: '1' })
        assert.equal(status, 200)
      }
    }
  })

  /** A request that is always the same, with one DPoP proof. */
  const withProof = async (): Promise<() => Promise<Reply>> => {
    const key = createProofMaker()
    const url = (path: string) => `${server.issuer}${path}`
    const { body } = await send('/connect/token', {
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPE, ...CLIENT }).toString(),
      type: 'application/x-www-form-urlencoded',
      headers: { dpop: key.prove({ method: 'POST', url: url('/connect/token') }) },
    })
    const accessToken: string = JSON.parse(body).access_token
    // The supervisor has started within this second, perhaps.
    await sleep(1000)
    const dpop = key.prove({ method: 'POST', url: url('/query'), accessToken })
    const headers = { authorization: `DPoP ${accessToken}`, dpop }
    return () => send('/query', { headers, body: 'SELECT count(*) AS n FROM ledger' })
  }

  test('RFC 9449 §11.1: a DPoP proof counts once on all workers', async () => {
    const ask = await withProof()
    const replies = await Promise.all(Array.from({ length: 12 }, ask))
    const isGood = ({ status }: Reply) => status === 200
    assert.equal(replies.filter(isGood).length, 1)
    for (const { status, body } of replies.filter((reply) => !isGood(reply)))
      assert.ok(status === 401 && body.includes('it was used before'), body)
  })

  test('a maximum of the node is that of all workers together', async () => {
    const streams = await openStreams(MOST_STREAMS)
    for (const _worker of [1, 2]) await assert.rejects(connect(server.port, bearer(token)), /refused with 503/)
    await close(streams)
  })

  test('a remote controller is used by both workers once it is declared', async (t) => {
    const program = await startProgram()
    t.after(() => program.stop())
    const streams = await openStreams(2)
    const ask = (stream: StreamClient) => stream.request({ Controller: 'Orders', Topic: 'Place', TransactionID: 1 })
    const declared = await fetch(`${server.issuer}/admin/controllers/Orders`, {
      method: 'PUT',
      headers: { ...bearer(token).headers, 'content-type': 'application/json' },
      body: JSON.stringify({ url: program.url, topics: [{ name: 'Place', needs: 'Platform/Trading' }] }),
    })
    assert.equal(declared.status, 201)
    for (const stream of streams) assert.deepEqual((await ask(stream)).Data, {})
    await close(streams)
  })

  test('a revocation is felt on the streams of both workers within a second', async () => {
    const revoked = await newToken()
    const streams = await openStreams(2, revoked)
    for (const stream of streams) assert.equal((await identify(stream)).Result, 'Success')
    const since = performance.now()
    assert.equal((await form('/connect/revocation', { token: revoked, ...CLIENT })).status, 200)
    for (const stream of streams) {
      await until('it is rejected', 1000, async () => (await identify(stream)).Result === 'Reject')
    }
    assert.ok(performance.now() - since < 1000)
    await close(streams)
  })

  test('a live statement learns of commits of the other worker as quickly as of its own worker', async () => {
    const streams = await openStreams(2)
    const delays: number[][] = [[], []]
    for (const stream of streams) {
      const Data = { Statement: 'SELECT id, n FROM ledger WHERE n < 100', MaxRate: 50 }
      stream.send({ Controller: 'Query', Topic: 'Live/l', Action: 'Sub', Data })
      await stream.next()
    }
    for (let n = 0; n < 12; n++) {
      await query(`INSERT INTO ledger VALUES ('live-${n}', ${n})`)
      const since = performance.now()
      const arrivals = await Promise.all(streams.map((stream) => stream.next().then(() => performance.now() - since)))
      for (const [index, arrival] of arrivals.toSorted((a, b) => a - b).entries()) delays[index]?.push(arrival)
    }
    const [own = 0, other = 0] = delays.map((all) => all.toSorted((a, b) => a - b)[all.length >> 1])
    // Polls every 200 ms would make it 100 ms and more.
    assert.ok(other < own * 3 + 60, `${own} ms on the worker that wrote, ${other} ms on the other`)
    await close(streams)
  })

  if (engine === 'sqlite')
    test('a long write is stopped when a write of another owner has waited for it in another worker', async () => {
      const from = Array.from({ length: 9 }, (_, index) => `ledger t${index}`).join(' CROSS JOIN ')
      const body = `UPDATE ledger SET n = n WHERE (SELECT count(*) FROM ${from}) > 0`
      const long = send('/query', { token, body })
      await until('it runs', 3000, async () => (await list('/admin/queries')).length === 1)
      const short: Promise<Reply>[] = []
      let isOver = false
      void long.finally(() => {
        isOver = true
      })
      const insertUntil = async (accessToken: string, isEnough: () => boolean) => {
        while (!isOver && !isEnough()) {
          const statement = `INSERT INTO ledger VALUES ('short-${short.length}', 200)`
          short.push(send('/query', { token: accessToken, body: statement }))
          await sleep(50)
        }
      }
      // Half of these are on the other worker, and wait three times as long as those of others will.
      const since = performance.now()
      await insertUntil(token, () => performance.now() - since > 1500)
      assert.ok(!isOver, 'writes of the same owner do not stop it')
      await insertUntil(await newToken('another'), () => false)
      for (const { status, body: reply } of await Promise.all(short)) assert.equal(status, 200, reply)
      const { status, body: problem } = await long
      assert.ok(status >= 400 && /Limit\.WriteTime/.test(problem), problem)
    })

  test('a rate limit is one limit', async () => {
    let sent = 0
    const remaining = async (): Promise<number> => {
      sent++
      const { headers } = await send('/no-such-page')
      return Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
    }
    for (let n = 0; n < 240; n++) await remaining()
    await until('both workers know of the requests of the other', 2000, async () => {
      await sleep(100)
      const left = Math.max(await remaining(), await remaining())
      return left < LIMIT - 0.8 * sent
    })
  })

  test('/metrics shows sums, and the processes apart', async () => {
    for (let n = 0; n < 7; n++) await send('/healthz')
    for (const _worker of [1, 2]) {
      const { body } = await send('/metrics', { token })
      const requests = /^gatehouse_http_requests_total\{method="GET",route="\/healthz",status="200"\} (\d+)$/m.exec(
        body,
      )
      assert.equal(requests?.[1], '7')
      const rss = [...body.matchAll(/^process_resident_memory_bytes\{worker="(\d)"\} \d+$/gm)].map(
        ([, worker]) => worker,
      )
      assert.deepEqual(rss.toSorted(), ['1', '2'])
    }
  })

  /** Durable inserts of several clients; one that gets no reply tries again with the same key. */
  const startLoad = (t: TestContext, agent?: http.Agent) => {
    const load = { isRunning: true, acknowledged: [] as string[], broken: 0, wrong: [] as string[] }
    const insert = async () => {
      while (load.isRunning) {
        const id = randomUUID()
        const options = {
          ...{ token, type: 'application/json', body: JSON.stringify({ id, n: 1000 }) },
          headers: { 'idempotency-key': id },
          ...(agent && { agent }),
        }
        for (let isDone = false; !isDone; ) {
          try {
            const { status, body } = await send('/query/ledger/insert', options)
            if (status === 200) load.acknowledged.push(id)
            else load.wrong.push(`${status} ${body}`)
            isDone = true
            await sleep(5)
          } catch {
            load.broken++
            await sleep(10)
          }
        }
      }
    }
    const ended = Promise.all(Array.from({ length: 4 }, insert))
    t.after(() => {
      load.isRunning = false
    })
    return Object.assign(load, {
      async stop() {
        load.isRunning = false
        await ended
        const rows = await send('/query', { token, body: 'SELECT id FROM ledger', headers: { accept: 'text/csv' } })
        const kept = new Set(rows.body.match(/[0-9a-f-]{36}/g))
        assert.deepEqual(load.wrong, [])
        assert.ok(load.acknowledged.length > 0)
        assert.deepEqual(
          load.acknowledged.filter((id) => !kept.has(id)),
          [],
        )
      },
    })
  }
  /** The load makes progress. */
  const more = (load: ReturnType<typeof startLoad>) => {
    const goal = load.acknowledged.length + 20
    return until('inserts go on', 3000, () => load.acknowledged.length >= goal)
  }

  test('SIGHUP replaces the workers one after another without a failed request', async (t) => {
    const old = await pids()
    const askAgain = await withProof()
    assert.equal((await askAgain()).status, 200)
    const agent = new http.Agent({ keepAlive: true })
    const [kept, fresh] = [startLoad(t, agent), startLoad(t)]
    await declare({ limit_pages: `address=${LIMIT}/600`, brand_name: 'After' })
    server.child.kill('SIGHUP')
    await until('all are replaced', 20_000, () => logged('all workers have been replaced').length === 1)
    await more(kept)
    await Promise.all([kept.stop(), fresh.stop()])
    agent.destroy()
    assert.deepEqual([kept.broken, fresh.broken], [0, 0])
    const next = await pids()
    assert.ok(next.length === 2 && next.every((pid) => !old.includes(pid)), `${old} → ${next}`)
    assert.match((await send('/', { headers: { accept: 'text/html' } })).body, /After/)
    assert.equal((await askAgain()).status, 401)
  })

  test('settings that cannot be reloaded are logged, and the server continues', async () => {
    const old = await pids()
    await declare({ stream_controllers: '/no/such/module.js' })
    server.child.kill('SIGHUP')
    const failure = 'settings could not be reloaded; the previous settings stay in effect'
    await until('the failure is logged', 5000, () => logged(failure).length === 1)
    assert.deepEqual(await pids(), old)
  })

  test('kill -9 of one worker after another: no acknowledged write is lost, streams come back', async (t) => {
    const load = startLoad(t)
    for (const pid of await pids()) {
      // Others connect too, so that it is left to chance on which worker each is.
      const streams = await openStreams(12)
      process.kill(pid, 'SIGSTOP')
      // A connection is handed to a worker that can no longer accept it: its client must notice that.
      let answered = 0
      const waiting = Promise.allSettled(
        [1, 2, 3].map(() => send('/.well-known/openid-configuration').then(() => answered++)),
      )
      await until('the other worker answers', 3000, () => answered >= 2)
      process.kill(pid, 'SIGKILL')
      await waiting
      const isClosed = await Promise.race(streams.map(async ({ closed }) => (await closed).code > 0))
      assert.ok(isClosed)
      await more(load)
      const back = await connect(server.port, bearer(token))
      assert.equal((await identify(back)).Result, 'Success')
      for (const { socket } of [back, ...streams]) socket.terminate()
      await until('two workers answer', 5000, async () => {
        const now = await pids()
        return now.length === 2 && !now.includes(pid)
      })
    }
    await load.stop()
    const ends = lines().filter(({ msg }) => /^a worker ended \(signal SIGKILL\)/.test(String(msg)))
    assert.equal(ends.length, 2)
    // A counter never falls when a worker ends.
    const { body } = await send('/metrics', { token })
    assert.match(body, /route="\/healthz",status="200"\} 7$/m)
  })

  if (engine === 'sqlite')
    test('SIGTERM stops all of them cleanly', async () => {
      const all = await pids()
      assert.equal(await server.stop(), 0, server.output().stderr)
      assert.deepEqual(all.filter(isRunning), [])
    })
  else
    test('workers end when their supervisor is killed', async () => {
      const all = await pids()
      await server.stop('SIGKILL')
      await until('they have ended', 2000, () => all.every((pid) => !isRunning(pid)))
    })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a refused start prints one line, and changes nothing', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    taken.close()
    await leave()
  })
  const address = taken.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const data = join(place.dataFolder, 'data')
  const { status, stderr } = await runGatehouse(['serve', '--workers', '2', '--data', data, '--port', port])
  assert.equal(status, 1)
  assert.match(stderr, /^gatehouse: Port \d+ is in use: [^\n]+\n$/)
  assert.deepEqual(readdirSync(place.dataFolder), [])
  const wrong = await runGatehouse(['serve', '--workers', 'many', '--data', data])
  assert.match(wrong.stderr, /^gatehouse: --workers: "many" is not a whole number[^\n]*\n$/)
})
