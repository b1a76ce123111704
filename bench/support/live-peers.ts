/** What live queries are compared with: a broadcast of Socket.IO, and PGlite's incremental queries. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Figures } from './compare.ts'
import { countMessages } from './message-counter.ts'
import { launchPeer, newPort } from './program.ts'

/** The clients speak the protocol of Socket.IO themselves, so that they cost as little as our clients. */
export async function socketIoBroadcast(
  subscribers: number,
  data: string,
  run: (
    server: { use(): { readonly cpuMs: number } },
    change: () => Promise<void>,
    delivered: () => number,
  ) => Promise<Figures>,
): Promise<Figures> {
  const port = newPort()
  const program = await launchPeer('socket-io.js', port, [], { path: '/socket.io/' })
  const sockets: WebSocket[] = []
  let delivered = 0
  const connect = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`)
    await once(socket, 'message')
    socket.send('40')
    await once(socket, 'message')
    socket.send('421["sub"]')
    await once(socket, 'message')
    countMessages(socket, data.length, () => delivered++)
    sockets.push(socket)
    return socket
  }
  try {
    const [publisher] = await Promise.all(Array.from({ length: 50 }, connect))
    while (sockets.length < subscribers) await Promise.all(Array.from({ length: 50 }, connect))
    if (publisher === undefined) throw new Error('Nobody publishes')
    const text = `422["publish",${data}]`
    return await run(
      program,
      async () => publisher.send(text),
      () => delivered,
    )
  } finally {
    for (const socket of sockets) socket.terminate()
    await sleep(100)
    await program.stop()
  }
}

/** PGlite runs in a separate process, which makes the changes and holds the result. */
export async function pgliteChanges(changes: number): Promise<Figures> {
  const port = newPort()
  const program = await launchPeer('pglite.js', port)
  try {
    const before = program.use().cpuMs
    const { seconds } = JSON.parse(await (await fetch(`http://127.0.0.1:${port}/run?changes=${changes}`)).text())
    return { rate: changes / seconds, cpu: ((program.use().cpuMs - before) / changes) * 1000 }
  } finally {
    await program.stop()
  }
}
