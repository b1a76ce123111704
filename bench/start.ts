/** The time from launch to the first successful response of every service, and the memory at rest. */
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Checkout, serve } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { benchPath, launch, newPort, type Program, temporaryFolder } from './support/program.ts'
import { adminToken } from './support/tokens.ts'

const PORT = newPort()
const ORIGIN = `http://127.0.0.1:${PORT}`
const DISCOVERY = '/.well-known/openid-configuration'
const REST_MS = 1500
const TIMEOUT_MS = 60_000

export const start: Measurement = {
  name: 'start',
  about: 'second start until all services answer, and memory at rest',
  columns: { first: 'ms', cpu: 'ms', resident: 'MiB', proportional: 'MiB' },
  targets: { first: { most: 400 }, resident: { most: 100 } },
  subject: (checkout) => measureStart('gatehouse, three services', checkout, {}),
  async *references() {
    yield peer('oidc-provider, in memory', 'oidc-provider.js', DISCOVERY)
    yield peer('bare node:http', 'bare.js', '/')
  },
}

/** The first start creates keys and data and is not measured. Its token stays valid, because the keys stay. */
export async function measureStart(
  name: string,
  checkout: Checkout,
  more: Readonly<Record<string, string>>,
): Promise<Contender> {
  const folder = await temporaryFolder()
  const flags = { '--demo': 'true', '--port': String(PORT), '--data': join(folder.path, 'data'), ...more }
  const first = await serve(checkout, flags, { readyAt: ORIGIN + DISCOVERY })
  const token = await adminToken(PORT)
  await first.stop()
  return {
    name,
    measure: () =>
      timed(
        () => serve(checkout, flags),
        async () => (await answers(DISCOVERY)) && (await queries(token)) && (await upgrades(token)),
      ),
    close: folder.remove,
  }
}

function peer(name: string, file: string, path: string): Contender {
  const program = () => launch(process.execPath, [benchPath(`peers/${file}`), String(PORT)])
  return { name, measure: () => timed(program, () => answers(path)) }
}

async function timed(start: () => Promise<Program>, isUp: () => Promise<boolean>): Promise<Figures> {
  const started = performance.now()
  const program = await start()
  try {
    await until(isUp)
    const first = performance.now() - started
    const { cpuMs } = program.use()
    await sleep(REST_MS)
    const { residentMiB, proportionalMiB } = program.use()
    return { first, cpu: cpuMs, resident: residentMiB, proportional: proportionalMiB }
  } finally {
    await program.stop()
  }
}

async function until(isUp: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await isUp().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`No successful response within ${TIMEOUT_MS} ms`)
    await sleep(10)
  }
}

async function answers(path: string): Promise<boolean> {
  return (await fetch(ORIGIN + path)).ok
}

async function queries(token: string): Promise<boolean> {
  const response = await fetch(`${ORIGIN}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
    body: 'select name, issystem from cataloguetables',
  })
  await response.arrayBuffer()
  return response.ok
}

function upgrades(token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get(`${ORIGIN}/Platform?version=1.1`, {
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        'sec-websocket-protocol': 'PlatformJson',
        authorization: `Bearer ${token}`,
      },
    })
    request.once('upgrade', (_response, socket) => {
      socket.destroy()
      resolve(true)
    })
    request.once('response', (response) => {
      response.resume()
      resolve(false)
    })
    request.once('error', () => resolve(false))
  })
}
