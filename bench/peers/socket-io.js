// Socket.IO with the same features: acknowledged requests, sign-ins with RS256 tokens, a room for fan-out; WebSocket only.
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Server } from 'socket.io'

const [port, keyFile] = process.argv.slice(2)
const publicKey = keyFile === undefined ? undefined : createPublicKey(readFileSync(keyFile))
const server = new Server(Number(port), { transports: ['websocket'] })

server.use((socket, next) => {
  const { token } = socket.handshake.auth
  if (token !== undefined && signIn(socket, token) === false) next(new Error('unauthorized'))
  else next()
})

server.on('connection', (socket) => {
  socket.on('request', (data, reply) => reply(data))
  socket.on('token', (token, reply) => reply(signIn(socket, token)))
  socket.on('sub', (reply) => {
    socket.join('all')
    reply()
  })
  socket.on('publish', (data, reply) => {
    server.to('all').emit('message', data)
    reply()
  })
})

/** Like our AuthToken without restore tokens, revocation and limits: checks the token, keeps and returns the identity. */
function signIn(socket, token) {
  const claims = readToken(token)
  if (claims === undefined) return false
  socket.data.identity = { subject: claims.sub, scopes: new Set(claims.scope.split(' ')), expiresAt: claims.exp }
  return {
    Result: 'Success',
    UserID: claims.sub,
    ExpiryDate: new Date(claims.exp * 1000).toISOString(),
    Scope: [...socket.data.identity.scopes],
  }
}

function readToken(token) {
  const [head, body, signature] = token.split('.')
  const { alg, typ } = JSON.parse(Buffer.from(head, 'base64url'))
  if (alg !== 'RS256' || typ !== 'at+jwt') return undefined
  const signed = Buffer.from(`${head}.${body}`)
  if (!verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))) return undefined
  const claims = JSON.parse(Buffer.from(body, 'base64url'))
  if (claims.iss !== 'http://localhost:15490' || !claims.aud.includes('platform')) return undefined
  return claims.exp * 1000 > Date.now() ? claims : undefined
}
