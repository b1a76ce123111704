/** NATS over WebSocket, with a service that answers requests; undefined where it cannot be fetched. It checks no tokens. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { natsServer } from './fetched-peers.ts'
import { useOfTrees } from './process-tree.ts'
import { benchPath, launch, newPort, temporaryFolder } from './program.ts'
import type { Connection, StreamPeer } from './stream-peers.ts'

const PAYLOAD = 'x'.repeat(100)
const CONNECT = 'CONNECT {"verbose":false,"pedantic":false}\r\n'

export async function natsPeer(): Promise<StreamPeer | undefined> {
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
      const service = await launch(process.execPath, [benchPath('peers/nats-service.js'), String(clientPort)])
      // A request without a service would never be answered.
      const isServed = async () =>
        (await (await fetch(`http://127.0.0.1:${monitorPort}/connz?subs=1`)).text()).includes('bench.echo')
      while (!(await isServed())) await sleep(20)
      return {
        use: () => useOfTrees([server.pid, service.pid]),
        connect: () => connectNats(port),
        signInOnce: () => checksNoTokens(),
        async stop() {
          await service.stop()
          await server.stop()
        },
      }
    },
    close: folder.remove,
  }
}

let inboxes = 0

async function connectNats(port: number): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  const inbox = `_INBOX.${inboxes++}`
  let onReply = (): void => {}
  let onMessage = (): void => {}
  socket.on('message', (data: Buffer) => {
    // A frame can hold several operations, each on a line that begins with its name; the data of a message has no such line.
    for (const [, subscription] of data.toString('latin1').matchAll(OPERATION))
      if (subscription === undefined) onReply()
      else if (subscription === '1') onReply()
      else onMessage()
    if (data.includes('PING\r\n')) socket.send('PONG\r\n')
  })
  await once(socket, 'open')
  const ask = (text: string): Promise<void> =>
    new Promise((resolve) => {
      onReply = resolve
      socket.send(text)
    })
  await ask(`${CONNECT}SUB ${inbox} 1\r\nPING\r\n`)
  return {
    request: () => ask(`PUB bench.echo ${inbox} ${PAYLOAD.length}\r\n${PAYLOAD}\r\n`),
    signIn: () => checksNoTokens(),
    async subscribe(listener) {
      onMessage = listener
      await ask('SUB bench.all 2\r\nPING\r\n')
    },
    publish: () => ask(`PUB bench.all ${PAYLOAD.length}\r\n${PAYLOAD}\r\nPING\r\n`),
    end: () => socket.terminate(),
  }
}

async function checksNoTokens(): Promise<never> {
  throw new Error('NATS checks no tokens here')
}

const OPERATION = /^(?:PONG|MSG \S+ (\d+))/gm
