// A minimal WebSocket server: echoes requests, checks RS256 tokens, fans out; no envelope, rights or limits.
import { createPublicKey, verify } from 'node:crypto'
import { WebSocketServer } from 'ws'

const [port, keyFile] = process.argv.slice(2)
const publicKey =
  keyFile === undefined ? undefined : createPublicKey(await import('node:fs').then((fs) => fs.readFileSync(keyFile)))
const subscribers = new Set()
const server = new WebSocketServer({
  port: Number(port),
  host: '127.0.0.1',
  perMessageDeflate: process.argv.includes('--deflate') && {
    serverNoContextTakeover: true,
    clientNoContextTakeover: true,
    threshold: 1024,
  },
})

server.on('connection', (socket) => {
  socket.on('close', () => subscribers.delete(socket))
  socket.on('message', (data) => {
    const text = data.toString()
    if (text.startsWith('token ')) socket.send(isValid(text.slice(6)) ? 'ok' : 'no')
    else if (text === 'sub') {
      subscribers.add(socket)
      socket.send('ok')
    } else if (text.startsWith('publish ')) {
      const message = Buffer.from(text.slice(8))
      for (const subscriber of subscribers) subscriber.send(message, { binary: false })
      socket.send('ok')
    } else socket.send(text)
  })
})

function isValid(token) {
  const [head, body, signature] = token.split('.')
  return verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
}
