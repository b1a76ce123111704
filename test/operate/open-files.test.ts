/** A server that may open few files refuses connections in time, says so, and still answers probes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

const OPEN_FILES = 256

for (const workers of ['1', '2'])
  describe(`few open files, workers: ${workers}`, () => {
    let folder: string
    let server: RunningProcess
    let metricsPort: number
    let token: string
    const sockets: Socket[] = []
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gatehouse-open-files-'))
      metricsPort = await freePort()
      const args = ['--demo', '--data', folder, '--metrics-port', String(metricsPort), '--workers', workers]
      server = await serveProcess(args, { openFiles: OPEN_FILES })
      if (workers !== '1') await until('all answer', 5000, () => lines('all workers have started').length > 0)
      token = (await signIn(server, ADMIN)).access_token
    })
    after(async () => {
      for (const socket of sockets) socket.destroy()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    const lines = (text: string) =>
      server
        .output()
        .stdout.split('\n')
        .filter((line) => line.includes(text))

    /** On a separate connection. */
    async function ask(
      path: string,
      { port = server.port, method = 'GET' } = {},
    ): Promise<{ status: number; text: string }> {
      const headers = { authorization: `Bearer ${token}` }
      const [reply] = await once(request({ port, path, method, headers, agent: false }).end(), 'response')
      return { status: reply.statusCode, text: (await Array.fromAsync(reply)).join('') }
    }

    /** A supervisor hands them out one by one, and loses those that it cannot open, so it gets a hundred at a time. */
    async function open(count: number): Promise<void> {
      for (let index = 0; index < count; index++) {
        const socket = connect(server.port, '127.0.0.1')
        sockets.push(socket)
        socket.on('error', () => {})
        if (index % 100 === 99) await ask('/healthz')
      }
    }

    test('the start warns, and so does doctor', async () => {
      const [warning = '{}'] = lines('the open-file limit is low')
      assert.partialDeepStrictEqual(JSON.parse(warning), { level: 'warn', openFiles: OPEN_FILES })
      // The command has a higher limit, but that of the server counts.
      const { stdout } = await runGatehouse(['doctor', '--data', folder])
      assert.match(stdout, /warning {2}The server can open only 256 files, .* \[process\.open_files\]/)
    })

    test('probes and metrics are answered, other requests on new connections get 503, those on old ones go on', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const kept = async (): Promise<number> => {
        const [reply] = await once(request({ port: server.port, path: '/console', agent }).end(), 'response')
        await Array.fromAsync(reply)
        return reply.statusCode
      }
      try {
        await kept()
        await open(300)
        // Of several workers one may have got more than the other.
        let refused = await ask('/console')
        for (let round = 0; round < 20 && refused.status !== 503; round++) {
          await open(100)
          refused = await ask('/console')
        }
        assert.equal(refused.status, 503)
        assert.equal(JSON.parse(refused.text).Code, 'http.too_many_connections')
        for (let round = 0; round < 10; round++) {
          assert.equal((await ask('/healthz')).status, 200)
          assert.equal((await ask('/readyz')).status, 200)
        }
        assert.equal((await ask('/metrics')).status, 200)
        const metrics = await ask('/metrics', { port: metricsPort })
        assert.match(metrics.text, /^gatehouse_http_connections_refused_total{limit="node"} [1-9]/m)
        if (workers === '1')
          for (const [path, code] of [
            ['/connect/token', 'temporarily_unavailable'],
            ['/query', 'http.too_many_connections'],
          ] as const) {
            const { status, text } = await ask(path, { method: 'POST' })
            assert.equal(status, 503, path)
            assert.ok(text.includes(`"${code}"`), text)
          }
        assert.notEqual(await kept(), 503)
        await until('the log says so', 1000, () => lines('refusing connections').length > 0)
        assert.ok(lines('refusing connections').length <= Number(workers), 'one line a minute of each process')
        assert.deepEqual(lines('EMFILE'), [])
      } finally {
        agent.destroy()
      }
    })

    test('when the others have disconnected, all requests are served again', async () => {
      for (const socket of sockets) socket.destroy()
      await until('requests are served', 2000, async () => (await ask('/openapi.json')).status === 200)
    })
  })
