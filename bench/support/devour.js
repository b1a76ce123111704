// Sends the request that comes on standard input again and again, and throws the answers away.
import { connect } from 'node:net'

const MANY = 50

const parts = []
for await (const part of process.stdin) parts.push(part)
// Into one buffer: what this takes of a processor is taken from those who are timed.
const onread = { buffer: Buffer.allocUnsafe(64 * 1024), callback: () => true }
const socket = connect({ port: Number(process.argv[2]), host: '127.0.0.1', onread })
for (let count = 0; count < MANY; count++) socket.write(Buffer.concat(parts))
