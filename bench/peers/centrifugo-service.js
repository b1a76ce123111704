// A service behind Centrifugo that answers each remote procedure call with its own data: Centrifugo itself only passes calls on.
import { createServer } from 'node:http'

createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    if (request.method === 'GET') return response.end('{}')
    const { data } = JSON.parse(Buffer.concat(parts).toString())
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ result: { data } }))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
