/** A rolling update with the probes, times and variables of the Kubernetes manifest: no request fails, and streams are drained. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'
import { parseAllDocuments } from 'yaml'
import { Deployment } from '../support/deployment.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { serveProcess } from '../support/process.ts'
import { startTcpBalancer, type TcpBalancer } from '../support/tcp-balancer.ts'

const STREAMS = 12
/** Endpoints reach every machine of a cluster within a second or two. */
const PROPAGATION_MS = 2000

describe('a rolling update on Kubernetes', { skip: !IS_LONG_RUN && 'in npm run test:all' }, () => {
  let folder: string
  let database: { url: string; drop(): Promise<void> }
  let balancer: TcpBalancer
  let deployment: Deployment
  const masterKey = randomBytes(32).toString('base64')

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-update-'))
    database = await createPostgresDatabase()
    balancer = await startTcpBalancer()
    const manifest = await readFile(new URL('../../examples/kubernetes/gatehouse.yaml', import.meta.url), 'utf8')
    const documents = parseAllDocuments(manifest).map((document) => document.toJS())
    const { replicas, strategy, template } = documents.find(({ kind }) => kind === 'Deployment').spec
    assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 })
    const [container] = template.spec.containers
    const plain = container.env.filter(({ value }: { value?: string }) => value !== undefined)
    const variables = Object.fromEntries(plain.map(({ name, value }: { name: string; value: string }) => [name, value]))
    deployment = new Deployment({
      replicas,
      readinessProbe: container.readinessProbe,
      terminationGracePeriodSeconds: template.spec.terminationGracePeriodSeconds,
      propagationMs: PROPAGATION_MS,
      onEndpoints: (ports) => balancer.send(ports),
      startPod: async () => {
        const { GATEHOUSE_STOP_DELAY: delay = '', ...others } = variables
        const flags = ['--demo', '--stop-delay', delay, '--data', await mkdtemp(join(folder, 'pod-'))]
        return serveProcess(flags, {
          environment: {
            ...others,
            // Pods have addresses of their own; processes on one machine do not.
            GATEHOUSE_METRICS_HOST: '127.0.0.1',
            GATEHOUSE_METRICS_PORT: '0',
            GATEHOUSE_ISSUER: `http://localhost:${balancer.port}`,
            GATEHOUSE_DATABASE_URL: database.url,
            GATEHOUSE_MASTER_KEY: masterKey,
          },
        })
      },
    })
    await deployment.start()
  })
  after(async () => {
    await deployment.stop()
    await balancer.close()
    await database.drop()
    await stopOwnPostgres()
    await rm(folder, { recursive: true, force: true })
  })

  test('no request fails, no pod is killed, and streams are closed with 1012 over the drain time', {
    timeout: 150_000,
  }, async () => {
    const load = { isRunning: true, answered: 0, failed: [] as string[] }
    const address = `http://127.0.0.1:${balancer.port}`
    // No retries: every request counts.
    const send = async (path: string, init: RequestInit): Promise<unknown> => {
      try {
        const response = await fetch(address + path, init)
        const text = await response.text()
        load.answered += 1
        if (!response.ok) load.failed.push(`${path}: ${response.status} ${text.slice(0, 200)}`)
        return JSON.parse(text)
      } catch (error) {
        load.failed.push(`${path}: ${error instanceof Error ? `${error.message} ${String(error.cause)}` : error}`)
        return {}
      }
    }
    const token = async (form: Record<string, string>) => {
      const body = await send('/connect/token', { method: 'POST', body: new URLSearchParams(form) })
      return String(Object(body).access_token)
    }
    const admin = await token(ADMIN)
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    await send('/query', { method: 'POST', headers, body: JSON.stringify({ Statement: CREATE }) })
    await sleep(1000)

    const repeat = async (pause: number, once: () => Promise<unknown>) => {
      while (load.isRunning) {
        await once()
        await sleep(pause)
      }
    }
    const insert = () =>
      send('/query/ledger/insert', { method: 'POST', headers, body: JSON.stringify({ id: randomUUID() }) })
    const closes: { code: number; at: number }[] = []
    const work = [
      ...[1, 2, 3].map(() => repeat(10, insert)),
      ...[1, 2].map(() => repeat(20, () => token(SERVICE))),
      // An idle connection is reused after a pause.
      repeat(3000, () => send('/.well-known/openid-configuration', {})),
      ...Array.from({ length: STREAMS }, () => stream(admin, balancer.port, load, closes)),
    ]
    await sleep(2000)
    await deployment.update()
    await sleep(1000)
    load.isRunning = false
    await Promise.all(work)

    assert.deepEqual(load.failed.slice(0, 10), [], `${load.failed.length} of ${load.answered} failed`)
    assert.deepEqual(deployment.statuses, [0, 0])
    assert.ok(load.answered > 1000, `${load.answered} requests`)
    assert.deepEqual([...new Set(closes.map(({ code }) => code))], [1012])
    const times = closes.map(({ at }) => at).sort((one, other) => one - other)
    assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) > 5000, 'streams are not all closed at once')
  })
})

const ADMIN = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
const SERVICE = { grant_type: 'client_credentials', client_id: 'demo-service', client_secret: 'demo-service-secret' }
const CREATE = 'CREATE TABLE ledger (id Text PRIMARY KEY)'

/** Keeps one stream open, and opens it again when it is closed. */
async function stream(
  token: string,
  port: number,
  load: { readonly isRunning: boolean; readonly failed: string[] },
  closes: { code: number; at: number }[],
): Promise<void> {
  while (load.isRunning) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, 'PlatformJson', {
      headers: { authorization: `Bearer ${token}` },
    })
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    socket.on('error', (error) => load.failed.push(`stream: ${error.message}`))
    let code: number | undefined
    while (load.isRunning && code === undefined) code = await Promise.race([closed, sleep(100, undefined)])
    if (code !== undefined) closes.push({ code, at: performance.now() })
    socket.terminate()
  }
}
