/** DPoP on streams: upgrades and AuthToken with tokens that are bound to a key. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createProofMaker, type ProofWishes } from '../support/dpop.ts'
import { useServer } from '../support/server.ts'
import { connect, refusedUpgrade, type StreamClient } from '../support/stream-client.ts'

interface Result {
  readonly Result?: string
  readonly Nonce?: string
  readonly AccessToken?: string
}

const key = createProofMaker()
const clients: StreamClient[] = []
let nonce: string | undefined
let plain = ''
let bound = ''
const server = useServer({ flags: { '--demo': 'true', '--stream-drain-time': '0' } }, async () => {
  plain = await signIn()
  nonce = (await askToken({ dpop: tokenProof() })).headers.get('dpop-nonce') ?? ''
  bound = await signIn({ dpop: tokenProof() })
})
after(() => {
  for (const { socket } of clients) socket.terminate()
})

const tokenProof = () => key.prove({ method: 'POST', url: `${server.issuer}/connect/token`, nonce })
const askToken = (headers: Record<string, string>) =>
  fetch(`${server.issuer}/connect/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: 'grant_type=password&username=alice&password=wonderland-1&client_id=demo-cli',
  })
async function signIn(headers: Record<string, string> = {}): Promise<string> {
  const reply = (await (await askToken(headers)).json()) as { access_token: string }
  return reply.access_token
}
const buildAddress = (scheme = 'http') => `${scheme}://localhost:${server.port}/Platform`
const prove = (accessToken: string, wishes: Partial<ProofWishes> = {}, maker = key) =>
  maker.prove({ url: buildAddress(), accessToken, nonce, ...wishes })
const open = async (headers: Record<string, string> = {}): Promise<StreamClient> => {
  const client = await connect(server.port, { headers })
  clients.push(client)
  return client
}
const ask = async (client: StreamClient, Topic: string, Data?: object): Promise<Result> => {
  const reply = await client.request({ Controller: 'Auth', Topic, TransactionID: 1, Data })
  return (reply.Action === 'Error' ? { Result: String(reply.Data) } : reply.Data) as Result
}
const queryNonce = async (client: StreamClient) => (await ask(client, 'QueryNonce')).Nonce
const authenticate = (client: StreamClient, accessToken: string, Proof: string | undefined, Provider = 'DPoP') =>
  ask(client, 'AuthToken', { Provider, AccessToken: accessToken, Proof })

test('an upgrade takes a bound token with a proof for GET and the address of the stream', async () => {
  for (const url of [buildAddress(), buildAddress('ws'), `http://127.0.0.1:${server.port}/platform`]) {
    const client = await open({ authorization: `DPoP ${bound}`, dpop: prove(bound, { url }) })
    const identity = await ask(client, 'QueryIdentify')
    assert.equal(identity.Result, 'Success')
    assert.ok(identity.Nonce)
  }
})

test('an upgrade with a bad proof, a used one or none, or in the wrong scheme gets 401', async () => {
  const used = prove(bound)
  await open({ authorization: `DPoP ${bound}`, dpop: used })
  const cases: [Record<string, string>, RegExp][] = [
    [{ authorization: `DPoP ${bound}`, dpop: used }, /^DPoP .*invalid_dpop_proof/],
    [{ authorization: `DPoP ${bound}` }, /^DPoP .*invalid_dpop_proof/],
    [{ authorization: `DPoP ${bound}`, dpop: prove(plain) }, /invalid_dpop_proof/],
    [{ authorization: `DPoP ${bound}`, dpop: prove(bound, { method: 'POST' }) }, /invalid_dpop_proof/],
    [{ authorization: `DPoP ${bound}`, dpop: prove(bound, {}, createProofMaker()) }, /invalid_dpop_proof/],
    [{ authorization: `DPoP ${bound}`, dpop: prove(bound, { nonce: undefined }) }, /use_dpop_nonce/],
    [{ authorization: `Bearer ${bound}` }, /^DPoP .*invalid_token/],
    [{ authorization: `DPoP ${plain}`, dpop: prove(plain) }, /^DPoP .*invalid_token/],
  ]
  for (const [headers, challenge] of cases) {
    const refused = await refusedUpgrade(server.port, { headers })
    assert.equal(refused.status, 401)
    assert.match(String(refused.headers['www-authenticate']), challenge)
    if (challenge.source === 'use_dpop_nonce') assert.equal(refused.headers['dpop-nonce'], nonce)
  }
})

test('AuthToken needs a proof with the nonce of its connection, which changes with each that is accepted', async () => {
  const client = await open()
  const first = await queryNonce(client)
  assert.equal(await queryNonce(client), first)
  assert.deepEqual(await authenticate(client, bound, undefined), { Result: 'Data Proof' })
  const proof = prove(bound, { nonce: first })
  const accepted = await authenticate(client, bound, proof)
  assert.equal(accepted.Result, 'Success')
  assert.notEqual(accepted.Nonce, first)
  assert.equal((await ask(client, 'QueryIdentify')).Nonce, accepted.Nonce)
  assert.deepEqual(await authenticate(client, bound, proof), { Result: 'Reject' })
  const again = await authenticate(client, bound, prove(bound, { nonce: accepted.Nonce }))
  assert.equal(again.Result, 'Success')
})

test('a proof of another connection, key, token, method or address, or a nonce of HTTP, is rejected', async () => {
  const client = await open()
  const elsewhere = await queryNonce(await open())
  const own = await queryNonce(client)
  for (const proof of [
    prove(bound, { nonce: elsewhere }),
    prove(bound),
    prove(bound, { nonce: undefined }),
    prove(bound, { nonce: own }, createProofMaker()),
    prove(plain, { nonce: own }),
    prove(bound, { nonce: own, method: 'POST' }),
    prove(bound, { nonce: own, url: `${server.issuer}/query` }),
    'nonsense',
  ])
    assert.deepEqual(await authenticate(client, bound, proof), { Result: 'Reject' })
  assert.equal(await queryNonce(client), own, 'a rejected proof does not change the nonce')
  assert.equal((await authenticate(client, bound, prove(bound, { nonce: own }), 'dpop')).Result, 'Success')
})

test('a bound token is no bearer token, also as a restored one, and the reverse', async () => {
  const client = await open()
  const restored = Buffer.from(bound).toString('base64')
  for (const token of [bound, restored])
    assert.deepEqual(await authenticate(client, token, undefined, 'Bearer'), { Result: 'Reject' })
  const own = await queryNonce(client)
  assert.deepEqual(await authenticate(client, plain, prove(plain, { nonce: own })), { Result: 'Reject' })
  const accepted = await authenticate(client, restored, prove(bound, { nonce: own }))
  assert.equal(accepted.Result, 'Success')
  assert.equal(accepted.AccessToken, restored)
  assert.deepEqual(await authenticate(client, plain, undefined, 'Bearer'), { Result: 'Reject' })
})

test('a connection with a bearer token is shown no nonce', async () => {
  const client = await open()
  const accepted = await authenticate(client, plain, undefined, 'Bearer')
  assert.equal(accepted.Result, 'Success')
  assert.equal(accepted.Nonce, undefined)
})
