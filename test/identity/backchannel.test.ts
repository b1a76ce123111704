/** Back-channel logout calls clients at public addresses only (C-115). */
import assert from 'node:assert/strict'
import http from 'node:http'
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Resolve } from '../../packages/server/src/http/outgoing/guarded-request.ts'
import { createBackchannel } from '../../packages/server/src/identity/browser/sign-out/backchannel.ts'
import { isPublicAddress } from '../../packages/server/src/lib/public-address.ts'
import { toClient } from '../../packages/server/src/store/clients/client-metadata.ts'

test('RFC 6890: private, local and special-purpose addresses are not public', () => {
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

describe('back-channel requests', () => {
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

  async function notify(uri: string, allowPrivate: boolean, resolve?: Resolve): Promise<string[]> {
    const failures: string[] = []
    const backchannel = createBackchannel({
      issuer: { logoutToken: async () => 'a.b.c' },
      allowPrivate,
      onFailure: (_clientId, reason) => failures.push(reason),
      ...(resolve === undefined ? {} : { resolve }),
    })
    seen.length = 0
    backchannel.tell({
      sessionId: 's',
      userId: 'u',
      clients: [toClient({ client_id: 'c', backchannel_logout_uri: uri }, [])],
    })
    await backchannel.settled()
    return failures
  }

  test('200 and 204 are success', async () => {
    assert.deepEqual(await notify(`${origin}/fine`, true), [])
    assert.deepEqual(await notify(`${origin}/no-content`, true), [])
    assert.deepEqual(seen, ['/no-content'])
  })

  test('redirects are not followed, and errors are reported', async () => {
    assert.deepEqual(await notify(`${origin}/redirect`, true), ['The client answered 302'])
    assert.deepEqual(seen, ['/redirect'])
    assert.deepEqual(await notify(`${origin}/broken`, true), ['The client answered 500'])
  })

  test('an endless response is aborted', async () => {
    assert.deepEqual(await notify(`${origin}/huge`, true), ['The answer is too long'])
  })

  describe('addresses that are not called', () => {
    /** Local listeners on IPv4 and IPv6, which count connections. */
    const listeners: Server[] = []
    let port: number
    let connections = 0
    before(async () => {
      for (const host of ['127.0.0.1', '::1']) {
        const listener = createServer((socket) => {
          connections++
          socket.destroy()
        })
        await new Promise<void>((resolve) => listener.listen(port ?? 0, host, resolve))
        port = (listener.address() as AddressInfo).port
        listeners.push(listener)
      }
    })
    after(() => {
      for (const listener of listeners) listener.close()
    })

    async function reaches(host: string, allowPrivate: boolean, resolve?: Resolve): Promise<[string, number]> {
      connections = 0
      const [reason = ''] = await notify(`https://${host}:${port}/x`, allowPrivate, resolve)
      return [reason, connections]
    }
    const answering =
      (...addresses: string[]): Resolve =>
      (_hostname, _options, callback) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
        )

    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0.0.0.0',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:a9fe:a9fe]',
      '169.254.169.254',
      '[fe80::1]',
      '[fc00::1]',
      '[fd12:3456::1]',
      '10.0.0.1',
      '192.168.0.1',
    ])
      test(`C-115: a private IP address is not called: ${host}`, async () => {
        assert.deepEqual(await reaches(host, false), ['The address is private', 0])
      })

    for (const host of ['localhost', 'LOCALHOST', 'localhost.'])
      test(`C-115: a local host name is not called: ${host}`, async () => {
        const [reason, came] = await reaches(host, false)
        assert.match(reason, /has a private address|ENOTFOUND|EAI_AGAIN/)
        assert.equal(came, 0)
      })

    for (const addresses of [
      ['127.0.0.1'],
      ['::1'],
      ['169.254.169.254'],
      ['fe80::1'],
      ['fe80::1%lo'],
      ['fd00::8'],
      ['::ffff:127.0.0.1'],
      ['::ffff:10.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['2606:4700::1111', '::1'],
    ])
      test(`C-115: a name that resolves to ${addresses.join(' and ')} is not called`, async () => {
        const [reason, came] = await reaches('rp.example.com', false, answering(...addresses))
        assert.deepEqual([reason, came], ['rp.example.com has a private address', 0])
      })

    test('C-115: the address that was checked is the one connected to: the name is resolved only once', async () => {
      let asked = 0
      const turning: Resolve = (hostname, options, callback) => {
        asked++
        answering(asked === 1 ? '127.0.0.1' : '8.8.8.8')(hostname, options, callback)
      }
      const [, came] = await reaches('rp.example.com', true, turning)
      assert.deepEqual([asked, came], [1, 1])
    })

    test('C-115: private addresses are called if the setting allows it', async () => {
      for (const host of ['127.0.0.1', '[::1]', 'localhost'])
        assert.equal((await reaches(host, true))[1] > 0, true, host)
    })

    test('C-115: plain http and other schemes are refused', async () => {
      assert.match((await notify(`${origin}/x`, false))[0] ?? '', /not https/)
      assert.match((await notify('ftp://example.com/x', true))[0] ?? '', /not https/)
      assert.deepEqual(seen, [])
    })
  })
})

function writeForever(response: http.ServerResponse): void {
  const chunk = Buffer.alloc(4096, 'x')
  const timer = setInterval(() => response.write(chunk), 1)
  response.once('close', () => clearInterval(timer))
}
