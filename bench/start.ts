/** From the start of the process to the first good answer of every service, and the memory at rest afterwards. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { useOfTree } from './support/process-tree.ts'

const PORT = 15_480
const ORIGIN = `http://127.0.0.1:${PORT}`
const REST_MS = 1500
const PATIENCE_MS = 20_000

export const start: Measurement = {
  name: 'start',
  about: 'second start until all services answer, and memory at rest',
  columns: { first: 'ms', cpu: 'ms', resident: 'MiB', proportional: 'MiB' },
  targets: { first: { most: 500 }, resident: { most: 110 } },
  async contenders() {
    return [
      await gatehouse(),
      program('oidc-provider, in memory', 'peers/oidc-provider.js', () => status('/.well-known/openid-configuration')),
      program('bare node:http', 'peers/bare.js', () => status('/')),
    ]
  },
}

/** The first start makes keys and data, and is not counted. Its token is good at the second, whose keys are the same. */
async function gatehouse(): Promise<Contender> {
  const data = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const args = [path('../bin/gatehouse.js'), 'serve', '--demo', '--port', String(PORT), '--data', data]
  const first = launch(args)
  await until(() => status('/.well-known/openid-configuration'))
  const token = await passwordToken()
  await end(first)
  return {
    name: 'gatehouse, three services',
    measure: () =>
      timed(
        args,
        async () =>
          (await status('/.well-known/openid-configuration')) && (await queries(token)) && (await upgrades(token)),
      ),
    close: () => rm(data, { recursive: true, force: true }),
  }
}

function program(name: string, file: string, isUp: () => Promise<boolean>): Contender {
  return { name, measure: () => timed([path(file), String(PORT)], isUp) }
}

async function timed(args: readonly string[], isUp: () => Promise<boolean>): Promise<Figures> {
  const began = performance.now()
  const child = launch(args)
  try {
    await until(isUp)
    const first = performance.now() - began
    const { cpuMs } = useOfTree(child.pid ?? 0)
    await sleep(REST_MS)
    const { residentMiB, proportionalMiB } = useOfTree(child.pid ?? 0)
    return { first, cpu: cpuMs, resident: residentMiB, proportional: proportionalMiB }
  } finally {
    await end(child)
  }
}

function launch(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  if (child.exitCode === null && child.kill('SIGTERM')) await ended
}

async function until(isUp: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + PATIENCE_MS
  while (!(await isUp().catch(() => false))) {
    if (performance.now() > limit) throw new Error(`There was no good answer within ${PATIENCE_MS} ms`)
    await sleep(10)
  }
}

async function status(route: string): Promise<boolean> {
  return (await fetch(ORIGIN + route)).ok
}

async function passwordToken(): Promise<string> {
  const response = await fetch(`${ORIGIN}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-cli',
      username: 'alice',
      password: 'wonderland-1',
    }),
  })
  const token = /"access_token":"([^"]+)"/.exec(await response.text())?.[1]
  if (token === undefined) throw new Error(`The token endpoint answered ${response.status}`)
  return token
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

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
