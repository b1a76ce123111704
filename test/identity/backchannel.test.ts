/** Calls to applications go where they should and nowhere else (C-115). */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createBackchannel } from '../../src/identity/browser/backchannel.ts'
import { isPublicAddress } from '../../src/identity/browser/public-address.ts'
import { toClient } from '../../src/store/client-metadata.ts'

test('RFC 6890: private, local and special addresses are told from public ones', () => {
  const notPublic = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'ff02::1',
  ]
  for (const address of notPublic) assert.equal(isPublicAddress(address), false, address)
  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '192.169.0.1', '2606:4700::1111', '2a00:1450::1'])
    assert.equal(isPublicAddress(address), true, address)
})

describe('a back-channel call', () => {
  const seen: string[] = []
  let server: http.Server
  let origin: string
  before(async () => {
    server = http.createServer((request, response) => {
      seen.push(request.url ?? '')
      request.resume()
      if (request.url === '/redirect') response.writeHead(302, { location: `${origin}/elsewhere` }).end()
      else if (request.url === '/huge') writeForever(response)
      else if (request.url === '/no-content') response.writeHead(204).end()
      else if (request.url === '/broken') response.writeHead(500).end()
      else response.end('fine')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  async function tell(uri: string, allowPrivate: boolean): Promise<string[]> {
    const failures: string[] = []
    const teller = createBackchannel({
      clients: { find: async (id) => toClient({ client_id: id, backchannel_logout_uri: uri }, []) },
      issuer: { logoutToken: async () => 'a.b.c' },
      allowPrivate,
      onFailure: (_clientId, reason) => failures.push(reason),
    })
    seen.length = 0
    teller.tell({ sessionId: 's', userId: 'u', clientIds: ['c'] })
    await teller.settled()
    return failures
  }

  test('200 and 204 are fine', async () => {
    assert.deepEqual(await tell(`${origin}/fine`, true), [])
    assert.deepEqual(await tell(`${origin}/no-content`, true), [])
    assert.deepEqual(seen, ['/no-content'])
  })

  test('a redirect is not followed, a fault is reported', async () => {
    assert.deepEqual(await tell(`${origin}/redirect`, true), ['The client answered 302'])
    assert.deepEqual(seen, ['/redirect'])
    assert.deepEqual(await tell(`${origin}/broken`, true), ['The client answered 500'])
  })

  test('an answer without end is cut off', async () => {
    assert.deepEqual(await tell(`${origin}/huge`, true), ['The answer is too long'])
  })

  test('private addresses are refused by number and by name, and plain http is', async () => {
    const { port } = new URL(origin)
    for (const uri of [`http://127.0.0.1:${port}/x`, `https://127.0.0.1:${port}/x`, `https://[::1]:${port}/x`])
      assert.equal((await tell(uri, false)).length, 1, uri)
    assert.match((await tell(`https://localhost:${port}/x`, false))[0] ?? '', /private address/)
    assert.match((await tell('ftp://example.com/x', true))[0] ?? '', /not https/)
    assert.deepEqual(seen, [])
  })
})

function writeForever(response: http.ServerResponse): void {
  const chunk = Buffer.alloc(4096, 'x')
  const timer = setInterval(() => response.write(chunk), 1)
  response.once('close', () => clearInterval(timer))
}
