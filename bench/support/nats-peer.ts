/** NATS over WebSocket; undefined where it cannot be fetched. It checks no tokens. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { natsServer } from './fetched-peers.ts'
import { launch, newPort, temporaryFolder } from './program.ts'
import type { StreamPeer, TopicConnection, TopicServer } from './stream-peers.ts'

const PAYLOAD = 'x'.repeat(100)
const CONNECT = 'CONNECT {"verbose":false,"pedantic":false}\r\n'

export async function natsPeer(): Promise<StreamPeer<TopicServer> | undefined> {
  const program = natsServer()
  if (program === undefined) return undefined
  const folder = await temporaryFolder()
  const [port, clientPort, monitorPort] = [newPort(), newPort(), newPort()]
  const config = join(folder.path, 'nats.conf')
  await writeFile(
    config,
    `listen: 127.0.0.1:${clientPort}\nhttp: 127.0.0.1:${monitorPort}\nmax_connections: 100000\nwebsocket { listen: "127.0.0.1:${port}", no_tls: true }\n`,
  )
  return {
    tokens: async () => [],
    async start() {
      const readyAt = `http://127.0.0.1:${monitorPort}/healthz`
      const server = await launch(program, ['-c', config], { readyAt, quiet: true })
      return { use: server.use, connect: () => connectNats(port), stop: server.stop }
    },
    close: folder.remove,
  }
}

async function connectNats(port: number): Promise<TopicConnection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  let onReply = (): void => {}
  let onMessage = (): void => {}
  socket.on('message', (data: Buffer) => {
    // A frame can hold several operations, each on a line that begins with its name; the data of a message has no such line.
    for (const [operation] of data.toString('latin1').matchAll(OPERATION))
      if (operation === 'PONG') onReply()
      else onMessage()
    if (data.includes('PING\r\n')) socket.send('PONG\r\n')
  })
  await once(socket, 'open')
  const ask = (text: string): Promise<void> =>
    new Promise((resolve) => {
      onReply = resolve
      socket.send(text)
    })
  await ask(`${CONNECT}PING\r\n`)
  return {
    async subscribe(listener) {
      onMessage = listener
      await ask('SUB bench.all 1\r\nPING\r\n')
    },
    publish: () => ask(`PUB bench.all ${PAYLOAD.length}\r\n${PAYLOAD}\r\nPING\r\n`),
    end: () => socket.terminate(),
  }
}

const OPERATION = /^(?:PONG|MSG )/gm
