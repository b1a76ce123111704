/**
 * Floods a server over five connections, without a token or signed in: `node fuzz/stream-flood.ts [milliseconds] [flood,flood]`. Floods
 * that are named unread have 800 connections, streaming or HTTP, which ask and never read. Prints what another connection notices
 * of each flood: the time of its requests, and the processor time and memory of the server.
 */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { constants, deflateRawSync } from 'node:zlib'
import { signIn } from '../test/support/demo-user.ts'
import { frame, OPCODE, openRaw, type RawPeer } from '../test/support/frames.ts'
import { serveProcess } from '../test/support/process.ts'
import { connect } from '../test/support/stream-client.ts'

const { ping, pong, text, continuation } = OPCODE
const PATH = '/Platform?version=1.1'
const QUESTION = '{"Topic":"QueryServerInfo","TransactionID":1}'
const SUB = { Controller: 'Query', Topic: 'Live/x', Action: 'Sub' }
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 5)
const UNREAD_CONNECTIONS = 800
/** Stands for the access token. */
const TOKEN = 'THE-TOKEN'
const CHUNK = 1024 * 1024

export const FLOODS = {
  none: undefined,
  pings: frame({ opcode: ping, payload: 'x' }),
  pongs: frame({ opcode: pong }),
  'empty fragments': frame({ opcode: continuation, fin: false }),
  'fragments of a byte': frame({ opcode: continuation, payload: 'x', fin: false }),
  'empty messages': frame({ opcode: text }),
  messages: frame({ opcode: text, payload: QUESTION }),
  'compressed megabytes': frame({
    opcode: text,
    payload: deflated(`${QUESTION}${' '.repeat(1_000_000)}`),
    reserved: 4,
  }),
  'compressed arrays': frame({ opcode: text, payload: deflated(`{"Data":[${'[],'.repeat(300_000)}0]}`), reserved: 4 }),
  'signed in, messages': frame({ opcode: text, payload: QUESTION }),
  'signed in, wrong tokens': frame({
    opcode: text,
    payload: '{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"AccessToken":"e30.e30.e30"}}',
  }),
  'signed in, feeds': Buffer.concat(
    ['Sub', 'Unsub'].map((Action) => frame({ opcode: text, payload: JSON.stringify({ Topic: 'Feeds', Action }) })),
  ),
  'signed in, live by key': live("SELECT price FROM trades WHERE symbol = 'ACME'"),
  'signed in, live joins': live('SELECT count(*) AS n FROM trades a CROSS JOIN trades b'),
  'signed in, long statements': live(`SELECT price FROM trades WHERE ${"symbol = 'ACME' OR ".repeat(480)} price > 0`),
  'signed in, compressed statements': frame({
    opcode: text,
    payload: deflated(
      JSON.stringify({ ...SUB, Data: { Statement: `SELECT price FROM trades${' '.repeat(900_000)}` } }),
    ),
    reserved: 4,
  }),
  'unread, messages': frame({ opcode: text, payload: QUESTION }),
  'signed in, unread, messages': frame({ opcode: text, payload: QUESTION }),
  'unread, HTTP pages': Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'),
  'signed in, unread, HTTP queries': query('SELECT symbol, price FROM trades LIMIT 100'),
  'signed in, unread, HTTP results': query('SELECT a.symbol, b.price FROM trades a, trades b LIMIT 3000'),
} as const

function query(statement: string): Buffer {
  const head = `POST /query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: text/plain`
  return Buffer.from(`${head}\r\nContent-Length: ${statement.length}\r\n\r\n${statement}`)
}

/** A live statement that is ended as soon as it is asked for. */
function live(Statement: string): Buffer {
  const messages = [
    { ...SUB, Data: { Statement } },
    { ...SUB, Action: 'Unsub' },
  ]
  return Buffer.concat(messages.map((message) => frame({ opcode: text, payload: JSON.stringify(message) })))
}

export type FloodName = keyof typeof FLOODS

export interface FloodReport {
  readonly requests: number
  /** Milliseconds of a request. */
  readonly p50: number
  readonly p99: number
  /** The share of a processor that the server used. */
  readonly busy: number
  readonly residentMiB: number
  /** While it was measured. */
  readonly mostMiB: number
}

/** Measures the requests of one connection while another process floods. */
export async function measureFlood(
  { port, pid, token }: { readonly port: number; readonly pid: number; readonly token: string },
  name: FloodName,
  ms: number,
): Promise<FloodReport> {
  const args = ['--flood', name, String(port), name.startsWith('signed in') ? token : '']
  const flooder = name === 'none' ? undefined : fork(fileURLToPath(import.meta.url), args)
  try {
    if (flooder !== undefined) await new Promise((resolve) => flooder.once('message', resolve))
    const client = await connect(port)
    const before = cpuMs(pid)
    const started = performance.now()
    const times: number[] = []
    let mostMiB = 0
    while (performance.now() - started < ms) {
      const asked = performance.now()
      await client.request({ Topic: 'QueryServerInfo', TransactionID: 1 })
      times.push(performance.now() - asked)
      mostMiB = Math.max(mostMiB, residentMiB(pid))
      await sleep(2)
    }
    const busy = (cpuMs(pid) - before) / (performance.now() - started)
    client.socket.terminate()
    times.sort((a, b) => a - b)
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.POSITIVE_INFINITY
    return { requests: times.length, p50: at(0.5), p99: at(0.99), busy, residentMiB: residentMiB(pid), mostMiB }
  } finally {
    flooder?.kill()
  }
}

/** Writes as fast as the server reads, until the process is ended. */
async function flood(name: FloodName, port: number, token: string): Promise<void> {
  const flooding = FLOODS[name]
  if (flooding === undefined) return
  const one = Buffer.from(flooding.toString('latin1').replace(TOKEN, token), 'latin1')
  const headers = {
    'Sec-WebSocket-Extensions': 'permessage-deflate',
    ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
  }
  const chunk = Buffer.concat(Array(Math.max(1, Math.ceil(CHUNK / one.length))).fill(one))
  const open = async (): Promise<Pick<RawPeer, 'socket'>> => {
    if (name.includes('HTTP'))
      return {
        socket: connectTcp(port, '127.0.0.1')
          .on('error', () => {})
          .pause(),
      }
    const peer = await openRaw(port, PATH, headers)
    if (name.includes('fragments')) peer.write(frame({ opcode: text, fin: false }))
    // Drops the replies: keeping them would cost more processor time than the server uses.
    peer.socket.removeAllListeners('data')
    if (name.includes('unread')) peer.socket.pause()
    else peer.socket.resume()
    peer.socket.setMaxListeners(0)
    return peer
  }
  const connections = name.includes('unread') ? UNREAD_CONNECTIONS : CONNECTIONS
  const opened = await Promise.all(Array.from({ length: connections }, open))
  process.send?.('flooding')
  await Promise.all(
    opened.map(async (first) => {
      let peer = first
      for (;;) {
        if (peer.socket.destroyed) {
          if (name.includes('unread')) return
          peer = await open()
        }
        const more = peer.socket.write(chunk)
        await Promise.race([
          more ? sleep(1) : new Promise((resolve) => peer.socket.once('drain', resolve)),
          new Promise((resolve) => peer.socket.once('close', resolve)),
        ])
      }
    }),
  )
}

function deflated(content: string): Buffer {
  return deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
}

/** User and system time of a process, in the ticks of Linux: hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

async function main(ms: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-flood-'))
  const many = ['--stream-max-connections-per-user', '1000', '--max-connections-per-address', '5000']
  const server = await serveProcess(['--demo', '--data', folder, ...many])
  try {
    const rows: Record<string, FloodReport> = {}
    const { access_token: token } = await signIn(server)
    const target = { port: server.port, pid: server.child.pid ?? 0, token }
    const names = (process.argv[3]?.split(/,(?! )/) ?? Object.keys(FLOODS)) as FloodName[]
    // A name may occur several times: memory that is only garbage does not grow each time.
    for (const [index, name] of names.entries()) rows[`${index + 1} ${name}`] = await measureFlood(target, name, ms)
    console.table(rows)
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

if (process.argv[2] === '--flood')
  await flood(process.argv[3] as FloodName, Number(process.argv[4]), process.argv[5] ?? '')
else if (import.meta.main) await main(Number(process.argv[2] ?? 3_000))
