/** The log line of a request says who called; a refused client leaves a line with the reason. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'

describe('the request log', () => {
  const server = useServer({ flags: { '--demo': 'true' } })

  async function readLines(requestId: string): Promise<Record<string, unknown>[]> {
    const lines = () => server.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === requestId)
    await until('the request is logged', 2000, () => lines().some(({ msg }) => msg === 'request'))
    return lines()
  }
  const url = (path: string) => `http://127.0.0.1:${server.port}${path}`

  test('a request with a token names its user and its client', async () => {
    const { access_token: token } = await signIn(server, ADMIN)
    const headers = { authorization: `Bearer ${token}`, 'request-id': 'with-token' }
    assert.equal((await fetch(url('/admin/users/admin'), { headers })).status, 200)
    const [line] = await readLines('with-token')
    assert.equal(line?.client, 'demo-cli')
    assert.match(String(line?.user), /^usr_/)
  })

  test('a token request names its client and, once it is known, its user', async () => {
    const body = new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-cli',
      username: 'alice',
      password: 'wonderland-1',
    })
    const headers = { 'request-id': 'token-request' }
    assert.equal((await fetch(url('/connect/token'), { method: 'POST', body, headers })).status, 200)
    const [line] = await readLines('token-request')
    assert.equal(line?.client, 'demo-cli')
    assert.match(String(line?.user), /^usr_/)
  })

  test('userinfo names the user and the client of its token, also where it refuses', async () => {
    const { access_token: token } = await signIn(server, ADMIN)
    const headers = { authorization: `Bearer ${token}`, 'request-id': 'userinfo' }
    assert.equal((await fetch(url('/connect/userinfo'), { headers })).status, 200)
    const [line] = await readLines('userinfo')
    assert.equal(line?.client, 'demo-cli')
    assert.match(String(line?.user), /^usr_/)
    const body = new URLSearchParams({ grant_type: 'client_credentials' })
    const authorization = `Basic ${btoa('demo-service:demo-service-secret')}`
    const machine = await fetch(url('/connect/token'), { method: 'POST', body, headers: { authorization } })
    const { access_token: own } = (await machine.json()) as { access_token: string }
    const refused = { authorization: `Bearer ${own}`, 'request-id': 'userinfo-refused' }
    assert.equal((await fetch(url('/connect/userinfo'), { headers: refused })).status, 403)
    assert.equal((await readLines('userinfo-refused')).find(({ msg }) => msg === 'request')?.client, 'demo-service')
  })

  test('an authorization request names its client', async () => {
    const query = new URLSearchParams({ client_id: 'demo-spa', response_type: 'code', prompt: 'none' })
    await fetch(url(`/connect/authorize?${query}`), { headers: { 'request-id': 'authorize' }, redirect: 'manual' })
    assert.equal((await readLines('authorize')).find(({ msg }) => msg === 'request')?.client, 'demo-spa')
  })

  test('probes and scrapes are logged at debug, and at info where they fail', async () => {
    const readLevel = async (path: string, init: RequestInit = {}) => {
      const id = `probe${path}${init.method ?? ''}`
      await fetch(url(path), { ...init, headers: { ...init.headers, 'request-id': id } })
      return (await readLines(id)).find(({ msg }) => msg === 'request')?.level
    }
    const { access_token: token } = await signIn(server, ADMIN)
    assert.equal(await readLevel('/healthz'), 'debug')
    assert.equal(await readLevel('/healthz', { method: 'HEAD' }), 'debug')
    assert.equal(await readLevel('/readyz'), 'debug')
    assert.equal(await readLevel('/metrics', { headers: { authorization: `Bearer ${token}` } }), 'debug')
    assert.equal(await readLevel('/metrics', { method: 'GET' }), 'info', 'without a token')
    assert.equal(await readLevel('/.well-known/openid-configuration'), 'info')
  })

  test('a request without a caller names none', async () => {
    await fetch(url('/healthz'), { headers: { 'request-id': 'anonymous' } })
    const [line] = await readLines('anonymous')
    assert.deepEqual(
      Object.keys(line ?? {}).filter((name) => ['user', 'client'].includes(name)),
      [],
    )
  })

  test('a wrong client secret leaves a line that says so, without the secret', async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials' })
    const authorization = `Basic ${btoa('demo-service:not-the-secret')}`
    const headers = { authorization, 'request-id': 'wrong-secret' }
    assert.equal((await fetch(url('/connect/token'), { method: 'POST', body, headers })).status, 401)
    const lines = await readLines('wrong-secret')
    const refused = lines.find(({ msg }) => msg === 'refused')
    assert.match(String(refused?.why), /client_secret_basic: wrong or expired secret/)
    assert.equal(lines.find(({ msg }) => msg === 'request')?.client, 'demo-service')
    assert.ok(!server.log.join('').includes('not-the-secret'))
  })

  test('an unknown client leaves a line too, without its name', async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'x-unknown', client_secret: 'y' })
    const headers = { 'request-id': 'unknown-client' }
    await fetch(url('/connect/token'), { method: 'POST', body, headers })
    const lines = await readLines('unknown-client')
    assert.match(String(lines.find(({ msg }) => msg === 'refused')?.why), /unknown client/)
  })
})

test('every line names the node', () => {
  const lines: string[] = []
  const logger = createLogger({
    level: 'info',
    format: 'json',
    node: 'a:1',
    destination: { write: (line) => void lines.push(line) },
  })
  logger.info('started')
  logger.child({ reqId: 'x' }).warn('refused')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).node),
    ['a:1', 'a:1'],
  )
})
