/** The documents of agents: how they are fetched and cached, and what in them is refused. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Refusal } from 'gatehouse-protocol'
import type { Resolve } from '../../../packages/server/src/http/outgoing/guarded-request.ts'
import { createAgentDocuments } from '../../../packages/server/src/identity/agents/documents.ts'
import { type DocumentServer, ecPair, rsaPair, serveDocuments, toJwk } from '../../support/foreign-issuer.ts'

const MINUTE = 60_000

describe('documents of agents', () => {
  let now = 1_800_000_000_000
  let server: DocumentServer
  let id: string
  before(async () => {
    server = await serveDocuments()
    id = `${server.origin}/agent.json`
  })
  beforeEach(() => {
    server.fetched.length = 0
    server.documents.clear()
    publish()
  })
  after(() => server.close())

  const document = (changes: object = {}) => ({
    client_id: id,
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    ...changes,
  })
  const publish = (changes: object = {}): void => void server.documents.set('/agent.json', document(changes))
  const open = (options: { resolve?: Resolve; allowPrivate?: boolean } = {}) =>
    createAgentDocuments({
      clock: () => now,
      metrics: { count: () => {} },
      allowPrivate: true,
      onFailure: () => {},
      ...options,
    })
  const reason = (documents = open(), clientId = id, address = '192.0.2.1') =>
    documents.read(clientId, address).then(
      () => '',
      (error: unknown) => (error instanceof Refusal ? `${error.code}: ${error.message}` : assert.fail(String(error))),
    )

  test('is read as a client that is an agent, and nothing else in it counts', async () => {
    publish({
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'password'],
      response_types: ['code', 'token'],
      scope: 'Platform/Admin Identity/Admin',
      skip_consent: true,
      agent: false,
      logo_uri: `${server.origin}/logo.png`,
      policy_uri: `${server.origin}/policy`,
      disabled: false,
    })
    const read = await open().read(id, '192.0.2.1')
    assert.deepEqual(read, {
      client_id: id,
      client_name: 'Claude',
      application_type: 'web',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      code_challenge_methods: ['S256'],
      require_pkce: true,
      token_endpoint_auth_method: 'none',
      agent: true,
      document: true,
    })
    assert.deepEqual(server.fetched, ['/agent.json'])
  })

  test('is cached for five minutes to an hour, as its headers say', async () => {
    for (const [header, minutes] of [
      ['no-store', 5],
      ['max-age=1', 5],
      ['max-age=1200', 20],
      ['max-age=999999', 60],
    ] as const) {
      server.documents.set('/agent.json', (_request, response) =>
        response.setHeader('cache-control', header).end(JSON.stringify(document())),
      )
      const documents = open()
      server.fetched.length = 0
      await documents.read(id, '192.0.2.1')
      now += minutes * MINUTE - 1
      await documents.read(id, '192.0.2.1')
      assert.equal(server.fetched.length, 1, header)
      now += 1
      await documents.read(id, '192.0.2.1')
      assert.equal(server.fetched.length, 2, header)
    }
  })

  test('that cannot be fetched is asked for again after a minute, and an old one does not take its place', async () => {
    const documents = open()
    server.documents.clear()
    assert.match(await reason(documents), /agent\.bad_document: .*404/)
    publish()
    assert.match(await reason(documents), /404/)
    assert.equal(server.fetched.length, 1)
    now += MINUTE
    assert.equal(await reason(documents), '')
    server.documents.clear()
    now += 5 * MINUTE
    assert.match(await reason(documents), /404/)
  })

  test('that are new: ten a minute and address, a hundred a node', async () => {
    const documents = open()
    const ask = (index: number, address: string) => reason(documents, `${server.origin}/new/${index}`, address)
    for (let index = 0; index < 10; index++) assert.match(await ask(index, '192.0.2.1'), /404/)
    assert.match(await ask(10, '192.0.2.1'), /http\.too_many_requests/)
    // Those that were asked for are no new ones.
    assert.match(await ask(3, '192.0.2.1'), /404/)
    assert.match(await ask(11, '192.0.2.2'), /404/)
    for (let index = 12; index < 101; index++) assert.match(await ask(index, `198.51.100.${index}`), /404/)
    assert.match(await ask(101, '203.0.113.7'), /http\.too_many_requests/)
    assert.equal(server.fetched.length, 100)
    now += 2 * MINUTE
    assert.match(await ask(101, '192.0.2.1'), /404/)
  })

  test('Hostile: new ones from all addresses of one network of IPv6 are those of one address', async () => {
    const documents = open()
    const ask = (index: number, address: string) => reason(documents, `${server.origin}/six/${index}`, address)
    for (let index = 0; index < 10; index++) assert.match(await ask(index, `2001:db8::${index + 1}`), /404/)
    assert.match(await ask(10, '2001:db8::ffff:1'), /http\.too_many_requests/)
    assert.match(await ask(10, '2001:db8:0:1::1'), /404/)
  })

  test('Hostile: thousands that are refused take no place of one that is cached', async () => {
    const documents = open()
    await documents.read(id, '192.0.2.9')
    for (let index = 0; index < 2_500; index++) await reason(documents, `${server.origin}/many/${index}`)
    await documents.read(id, '192.0.2.9')
    assert.equal(server.fetched.filter((path) => path === '/agent.json').length, 1)
  })

  test('Hostile: redirects, huge and slow documents, other types, other ids', async () => {
    const cases: [RegExp, object | Parameters<DocumentServer['documents']['set']>[1]][] = [
      [/The answer is 302/, (_request: unknown, response: Reply) => response.writeHead(302, { location: id }).end()],
      [/too long/, document({ padding: 'x'.repeat(6000) })],
      [/not JSON/, (_request: unknown, response: Reply) => response.end('<html>')],
      [/not a JSON object/, [document()]],
      [/client_id is not its own address/, document({ client_id: `${id}/` })],
      [/client_id is not its own address/, document({ client_id: [id] })],
      [/client_name is missing/, document({ client_name: ' ' })],
      [/longer than 100/, document({ client_name: 'x'.repeat(101) })],
      [/control characters/, document({ client_name: 'Claude\u202e' })],
      [/control characters/, document({ client_name: 'Cla\u200bude' })],
      [/redirect_uris is missing/, document({ redirect_uris: [] })],
      [/more than 20/, document({ redirect_uris: Array.from({ length: 21 }, (_, at) => `https://a.example/${at}`) })],
      [/loopback/, document({ redirect_uris: ['http://claude.ai/callback'] })],
      [/loopback|scheme/, document({ redirect_uris: ['com.example.app:/callback'] })],
      [/scheme/, document({ redirect_uris: ['javascript:alert(1)'] })],
      [/wildcard/, document({ redirect_uris: ['https://*.claude.ai/'] })],
      [/fragment/, document({ redirect_uris: ['https://claude.ai/#x'] })],
      [/lacks authorization_code/, document({ grant_types: ['client_credentials'] })],
      [/lacks code/, document({ response_types: ['token'] })],
      [/neither none nor/, document({ token_endpoint_auth_method: 'client_secret_basic' })],
      [/client_secret/, document({ client_secret: 'x' })],
      [/needs jwks/, document({ token_endpoint_auth_method: 'private_key_jwt' })],
      [/no public key|not supported/, document(withKeys(toJwk(ecPair().privateKey)))],
      [/no public key|not supported/, document(withKeys({ kty: 'oct', k: 'AAAA' }))],
      [/jwks_uri/, document({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'ftp://a.example/' })],
    ]
    for (const [expected, published] of cases) {
      server.documents.set('/agent.json', published)
      assert.match(await reason(), expected, JSON.stringify(published))
    }
    server.documents.set('/agent.json', (_request, response) => {
      response.writeHead(200)
      const drip = setInterval(() => response.write(' '), 500)
      response.on('close', () => clearInterval(drip))
    })
    assert.match(await reason(), /bad_document/)
  })

  test('Hostile: hosts in private networks, and names that resolve to them now or the second time', async () => {
    const addresses = ['10.0.0.7', '127.0.0.1', '169.254.169.254', '192.168.1.1', '[::1]', '[fd00::1]', '100.64.0.1']
    for (const host of addresses)
      assert.match(await reason(open({ allowPrivate: false }), `https://${host}/agent.json`), /private/, host)
    const resolved: string[] = []
    const rebinding: Resolve = (hostname, _options, callback) => {
      resolved.push(hostname)
      const address = resolved.length === 1 ? '127.0.0.1' : '10.0.0.7'
      callback(null, [
        { address: '203.0.113.9', family: 4 },
        { address, family: 4 },
      ])
    }
    const documents = open({ allowPrivate: false, resolve: rebinding })
    assert.match(await reason(documents, 'https://agent.example/agent.json'), /private address/)
    now += MINUTE
    assert.match(await reason(documents, 'https://agent.example/agent.json'), /private address/)
    assert.match(await reason(open({ allowPrivate: false }), id), /not https/)
    assert.deepEqual(server.fetched, [])
  })

  test('keys for private_key_jwt: those in it, or those that it names', async () => {
    const own = toJwk(rsaPair().publicKey, { kid: 'one' })
    publish(withKeys(own))
    assert.deepEqual((await open().read(id, '192.0.2.1')).jwks, { keys: [own] })
    publish({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://claude.ai/keys' })
    assert.equal((await open().read(id, '192.0.2.1')).jwks_uri, 'https://claude.ai/keys')
  })
})

type Reply = import('node:http').ServerResponse

function withKeys(...keys: object[]): object {
  return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } }
}
