// A service behind NATS that answers each request with its own data: NATS itself only passes messages on.
import { connect } from 'node:net'

const socket = connect(Number(process.argv[2]), '127.0.0.1')
socket.setNoDelay(true)
socket.write('CONNECT {"verbose":false,"pedantic":false}\r\nSUB bench.echo 1\r\nPING\r\n')

let rest = Buffer.alloc(0)
socket.on('data', (bytes) => {
  rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
  const replies = []
  for (;;) {
    const end = rest.indexOf('\r\n')
    if (end < 0) break
    const line = rest.toString('latin1', 0, end)
    if (line.startsWith('MSG ')) {
      const [, , , reply, size] = line.split(' ')
      const length = Number(size)
      if (rest.length < end + 4 + length) break
      replies.push(Buffer.from(`PUB ${reply} ${size}\r\n`), rest.subarray(end + 2, end + 4 + length))
      rest = rest.subarray(end + 4 + length)
    } else {
      if (line === 'PING') replies.push(Buffer.from('PONG\r\n'))
      rest = rest.subarray(end + 2)
    }
  }
  if (replies.length > 0) socket.write(Buffer.concat(replies))
})
