// Sends the request on stdin repeatedly and discards the responses.
import { connect } from 'node:net'

const REQUESTS = 50

const parts = []
for await (const part of process.stdin) parts.push(part)
// Read into one buffer: CPU time used here is missing for the requests that are timed.
const onread = { buffer: Buffer.allocUnsafe(64 * 1024), callback: () => true }
const socket = connect({ port: Number(process.argv[2]), host: '127.0.0.1', onread })
for (let count = 0; count < REQUESTS; count++) socket.write(Buffer.concat(parts))
