// Sends the request that comes on standard input again and again, and throws the answers away.
import { connect } from 'node:net'

const MANY = 50

const parts = []
for await (const part of process.stdin) parts.push(part)
const socket = connect(Number(process.argv[2]), '127.0.0.1')
for (let count = 0; count < MANY; count++) socket.write(Buffer.concat(parts))
socket.resume()
