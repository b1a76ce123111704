/** What live queries are compared with: a broadcast of Socket.IO, and PGlite's incremental queries. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Figures } from './compare.ts'
import { launchPeer, newPort } from './program.ts'

/** The clients speak the protocol of Socket.IO themselves, so that they cost as little as those of ours. */
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
    socket.on('message', (message: Buffer) => {
      if (message[0] === PING) socket.send('3')
      else if (message[1] === EVENT) delivered++
    })
    sockets.push(socket)
    return socket
  }
  try {
    while (sockets.length < subscribers) await Promise.all(Array.from({ length: 50 }, connect))
    const publisher = await connect()
    const text = `422["publish",${data}]`
    return await run(
      program,
      async () => publisher.send(text),
      // The publisher is a subscriber too.
      () => delivered,
    )
  } finally {
    for (const socket of sockets) socket.terminate()
    await sleep(100)
    await program.stop()
  }
}

const PING = 0x32
const EVENT = 0x32

/** PGlite runs in a process of its own, which makes the changes and holds the result. */
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
