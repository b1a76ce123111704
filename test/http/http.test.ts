/** HTTP behaviour that all endpoints share. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

onEveryEngineInLongRuns('http', (place) => {
  let server: TestServer
  before(async () => {
    server = await startTestServer(place())
  })
  after(() => server.stop())

  test('/healthz and /readyz answer 200', async () => {
    for (const path of ['/healthz', '/readyz', '/HealthZ']) {
      const response = await fetch(server.issuer + path)
      assert.equal(response.status, 200, path)
    }
  })

  test('/readyz leaves out the checks that exclude names, and refuses an unknown name', async () => {
    const some = await fetch(`${server.issuer}/readyz?exclude=database&exclude=query`)
    assert.equal(some.status, 200)
    assert.deepEqual(await some.json(), {
      status: 'ok',
      checks: { process: 'ok', database: 'excluded', query: 'excluded', installation: 'ok' },
    })
    for (const name of ['process', 'databse', '']) {
      const answer = await fetch(`${server.issuer}/readyz?exclude=${name}`)
      assert.equal(answer.status, 400, name)
      assert.partialDeepStrictEqual(await answer.json(), { Code: 'http.bad_request' })
    }
  })

  test('an unknown address is 404 as a problem document', async () => {
    const response = await fetch(`${server.issuer}/nothing/here`)
    assert.equal(response.status, 404)
    assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    assert.partialDeepStrictEqual(await response.json(), { Code: 'http.not_found' })
  })

  test('RFC 9110 §15.5.6: a wrong method is 405 and says what is allowed', async () => {
    const response = await fetch(`${server.issuer}/healthz`, { method: 'DELETE' })
    assert.equal(response.status, 405)
    assert.equal(response.headers.get('allow'), 'GET, HEAD')
  })

  test('every reply carries the security headers and a request id', async () => {
    const response = await fetch(`${server.issuer}/nothing`, { headers: { 'request-id': 'mine-1' } })
    assert.equal(response.headers.get('strict-transport-security'), 'max-age=31536000')
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(response.headers.get('request-id'), 'mine-1')
    const generated = await fetch(`${server.issuer}/nothing`, { headers: { 'request-id': 'has spaces and is bad' } })
    assert.match(generated.headers.get('request-id') ?? '', /^[0-9a-f-]{36}$/)
  })

  test('an address of 8 KiB and more is refused with 414', async () => {
    const response = await fetch(`${server.issuer}/healthz?${'x'.repeat(9000)}`)
    assert.equal(response.status, 414)
  })

  test('RFC 9112 §3.2.2: a target in absolute-form is answered as its path', async () => {
    const [answer] = await once(get({ port: server.port, path: `${server.issuer}/healthz` }), 'response')
    assert.equal(answer.statusCode, 200)
    answer.resume()
  })

  for (const [name, path, status, code] of [
    ['that is not UTF-8', '/%ff', 404, 'http.not_found'],
    ['cut in the middle of a character', '/connect/token%', 404, 'http.not_found'],
    ['with a long segment', `/admin/users/${'x'.repeat(600)}`, 401, 'access.token_needed'],
  ] as const)
    test(`a path ${name} is refused and logged`, async () => {
      const response = await fetch(server.issuer + path, {
        headers: { 'request-id': `bad-${name}`.replaceAll(' ', '-') },
      })
      assert.equal(response.status, status)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      assert.partialDeepStrictEqual(await response.json(), { Code: code })
      assert.ok(server.log.some((line) => line.includes(`bad-${name}`.replaceAll(' ', '-'))))
    })

  test('the log keeps the path of a request and never its query', async () => {
    await fetch(`${server.issuer}/healthz?code=very-secret`)
    const written = server.log.join('')
    assert.ok(written.includes('/healthz'))
    assert.ok(!written.includes('very-secret'))
  })
})
