/** Connections of tools by PostgreSQL's protocol: the memory of those that are idle. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from './support/checkout.ts'
import type { Figures, Measurement } from './support/compare.ts'
import { newPort, type Program, temporaryFolder } from './support/program.ts'
import { adminToken } from './support/tokens.ts'

const PORT = newPort()
const WIRE_PORT = newPort()
const IDLE = 2_000
/** One client may have 20 connections. */
const CLIENTS = IDLE / 20 + 10

const wireMemory: Measurement = {
  name: 'wire-memory',
  about: `resident memory of the server for each of ${IDLE.toLocaleString('en')} idle connections by PostgreSQL's protocol`,
  columns: { each: 'KiB' },
  targets: { each: { most: 24 } },
  async subject(checkout) {
    const folder = await temporaryFolder()
    const program = await serve(
      checkout,
      {
        '--demo': 'true',
        '--demo-market': 'false',
        '--port': String(PORT),
        '--wire-port': String(WIRE_PORT),
        '--wire-connections': String(2 * IDLE),
        '--data': join(folder.path, 'data'),
      },
      { readyAt: `http://127.0.0.1:${PORT}/readyz` },
    )
    const clients = await registerClients()
    return {
      name: 'gatehouse',
      measure: () => atRest(program, clients),
      async close() {
        await program.stop()
        await folder.remove()
      },
    }
  },
  async *references() {},
}

export const wire: readonly Measurement[] = [wireMemory]

interface Client {
  readonly client_id: string
  readonly client_secret: string
}

async function registerClients(): Promise<readonly Client[]> {
  const token = await adminToken(PORT)
  const clients: Client[] = []
  for (let number = 0; number < CLIENTS; number += 1) {
    const response = await fetch(`http://127.0.0.1:${PORT}/admin/clients`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        client_id: `tool-${number}`,
        client_name: `Tool ${number}`,
        grant_types: ['client_credentials'],
        scope: 'Platform/Market',
      }),
    })
    if (!response.ok) throw new Error(`A client could not be registered: ${await response.text()}`)
    clients.push((await response.json()) as Client)
  }
  return clients
}

async function atRest(program: Program, clients: readonly Client[]): Promise<Figures> {
  const warm = await open(clients.slice(0, 10))
  await sleep(1_000)
  const before = program.use().residentMiB
  const connections = await open(clients.slice(10))
  await sleep(3_000)
  const each = ((program.use().residentMiB - before) * 1024) / IDLE
  for (const socket of [...warm, ...connections]) socket.destroy()
  await sleep(500)
  return { each }
}

/** 20 for each. */
async function open(clients: readonly Client[]): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (const client of clients) sockets.push(...(await Promise.all(Array.from({ length: 20 }, () => signIn(client)))))
  return sockets
}

/** The start-up packet, the password, and a simple query, up to the ReadyForQuery after it. */
async function signIn({ client_id: user, client_secret: secret }: Client): Promise<Socket> {
  const socket = connect(WIRE_PORT, '127.0.0.1')
  socket.write(withLength('', Buffer.concat([Buffer.from([0, 3, 0, 0]), Buffer.from(`user\0${user}\0\0`)])))
  await until(socket, 'R')
  socket.write(withLength('p', Buffer.from(`${secret}\0`)))
  await until(socket, 'Z')
  socket.write(withLength('Q', Buffer.from('SELECT 1\0')))
  await until(socket, 'Z')
  return socket
}

/** ReadyForQuery is the last message of a reply, and has six bytes. */
async function until(socket: Socket, type: 'R' | 'Z'): Promise<void> {
  for (;;) {
    const [chunk]: Buffer[] = await once(socket, 'data')
    if (chunk === undefined || (type === 'R' && chunk[0] === 0x45)) throw new Error(`The sign-in failed: ${chunk}`)
    if (type === 'R' || chunk.at(-6) === 0x5a) return
  }
}

function withLength(type: string, body: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
