/** Centrifugo with JSON over WebSocket; undefined where it cannot be fetched. */
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { centrifugoServer } from './fetched-peers.ts'
import { launch, newPort, temporaryFolder } from './program.ts'
import type { Keys, StreamPeer, TopicConnection, TopicServer } from './stream-peers.ts'

const PAYLOAD = 'x'.repeat(100)
const STREAM = '/connection/websocket'

/** It checks signature, issuer, audience and expiry of a token, as ours does. */
export async function centrifugoPeer(keys: Keys): Promise<StreamPeer<TopicServer> | undefined> {
  const program = centrifugoServer()
  if (program === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const config = join(folder.path, 'config.json')
  const settings = {
    address: '127.0.0.1',
    port,
    health: true,
    log_level: 'error',
    token_rsa_public_key: await readFile(keys.file, 'utf8'),
    token_issuer: 'http://localhost:15490',
    token_audience: 'platform',
    allow_subscribe_for_client: true,
    allow_publish_for_client: true,
  }
  await writeFile(config, JSON.stringify(settings))
  return {
    tokens: keys.tokens,
    async start() {
      const [token = ''] = await keys.tokens(1)
      const server = await launch(program, ['-c', config], { readyAt: `http://127.0.0.1:${port}/health`, quiet: true })
      return { use: server.use, connect: () => connectCentrifugo(port, token), stop: server.stop }
    },
    async close() {
      await keys.close()
      await folder.remove()
    },
  }
}

async function connectCentrifugo(port: number, token: string): Promise<TopicConnection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${STREAM}`, { perMessageDeflate: false })
  let onReply = (_text: string): void => {}
  let onMessage = (): void => {}
  socket.on('message', (data: Buffer) => {
    // A frame can hold several messages, each on a line; the only one of two bytes is a ping, which wants the same back.
    if (data.length === PING.length) return socket.send(PING)
    for (const line of data.toString('latin1').split('\n'))
      if (line.startsWith('{"push"')) onMessage()
      else if (line !== '') onReply(line)
  })
  await once(socket, 'open')
  const ask = (method: string, parameters: object): Promise<void> =>
    new Promise((resolve, reject) => {
      onReply = (text) =>
        text.startsWith(replyTo(method)) ? resolve() : reject(new Error(`Centrifugo replied ${text}`))
      socket.send(command(method, parameters))
    })
  await ask('connect', { token })
  return {
    async subscribe(listener) {
      onMessage = listener
      await ask('subscribe', { channel: 'all' })
    },
    publish: () => ask('publish', { channel: 'all', data: PAYLOAD }),
    end: () => socket.terminate(),
  }
}

const PING = '{}'

function command(method: string, parameters: object): string {
  return JSON.stringify({ id: 1, [method]: parameters })
}

/** How a reply begins that is no error. */
function replyTo(method: string): string {
  return `{"id":1,"${method}"`
}
