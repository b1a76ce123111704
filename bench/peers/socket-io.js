// Socket.IO doing the same: acknowledged requests, RS256 tokens, a room to fan out to; over WebSocket only.
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Server } from 'socket.io'

const [port, keyFile] = process.argv.slice(2)
const publicKey = keyFile === undefined ? undefined : createPublicKey(readFileSync(keyFile))
const server = new Server(Number(port), { transports: ['websocket'] })

server.on('connection', (socket) => {
  socket.on('request', (data, reply) => reply(data))
  socket.on('token', (token, reply) => reply(isGood(token)))
  socket.on('sub', (reply) => {
    socket.join('all')
    reply()
  })
  socket.on('publish', (data, reply) => {
    server.to('all').emit('message', data)
    reply()
  })
})

function isGood(token) {
  const [head, body, signature] = token.split('.')
  return verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
}
