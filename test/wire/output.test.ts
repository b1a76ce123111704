/** What a connection sends: whether the client has room, and whether the memory of what was written can be freed. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Output } from '../../packages/server/src/wire/output.ts'

async function connected(): Promise<{ readonly output: Output; readonly client: Socket; close(): void }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  const [socket]: Socket[] = await once(server, 'connection')
  assert.ok(socket !== undefined)
  const close = (): void => {
    client.destroy()
    socket.destroy()
    server.close()
  }
  return { output: new Output(socket), client, close }
}

test('all is sent once the client has taken it, in the order of the writes', async () => {
  const { output, client, close } = await connected()
  let hasRoom = true
  let written = 0
  // Of different lengths, around that of a piece.
  for (let size = 200 * 1024; hasRoom; size += 1009) {
    assert.ok(output.hasSentAll())
    hasRoom = output.write(Buffer.alloc(size, written % 251))
    written++
  }
  assert.equal(output.hasSentAll(), false)
  const longest = Buffer.alloc(1024 * 1024, 1)
  output.write(longest)

  const received: Buffer[] = []
  client.on('data', (bytes: Buffer) => received.push(bytes)).resume()
  await output.drained()
  assert.ok(output.hasSentAll())
  output.end(Buffer.from([255]))
  await once(client, 'end')
  const sizes = Array.from({ length: written }, (_, index) => 200 * 1024 + index * 1009)
  const expected = [...sizes.map((size, index) => Buffer.alloc(size, index % 251)), longest, Buffer.from([255])]
  assert.ok(Buffer.concat(received).equals(Buffer.concat(expected)))
  close()
})

test('what waits to be joined with more is not sent yet', async () => {
  const { output, client, close } = await connected()
  output.cork()
  output.write(Buffer.from('first'))
  assert.equal(output.hasSentAll(), false)
  output.uncork()
  assert.ok(output.hasSentAll())
  client.resume()
  close()
})
