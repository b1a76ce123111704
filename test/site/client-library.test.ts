/** `/client`: pages import the library from the server, and programs install it from there. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { VERSION } from 'gatehouse-protocol'
import { useServer } from '../support/server.ts'

/** Registered for the demonstration's single-page application. */
const PAGE = 'http://localhost:5090'

describe('the client library', () => {
  const server = useServer({ flags: { '--demo': 'true' } })
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${server.port}/client/${path}`, { headers })

  test('is a module that can be imported as it is', async () => {
    const reply = await get('gatehouse.js')
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(reply.headers.get('content-encoding'), 'gzip')
    const text = await reply.text()
    const library = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
    assert.equal(typeof library.Gatehouse, 'function')
  })

  test('is asked for again by its name, and is the same by its version', async () => {
    const [current, versioned] = await Promise.all([get('gatehouse.js'), get(`gatehouse-${VERSION}.js`)])
    assert.equal(current.headers.get('cache-control'), 'no-cache')
    assert.equal(await current.text(), await versioned.text())
    const tag = current.headers.get('etag') ?? ''
    assert.equal((await get('gatehouse.js', { 'if-none-match': tag })).status, 304)
    assert.equal((await get('gatehouse-0.0.9.js')).status, 404)
  })

  test('may be imported by pages of registered origins, and not by others', async () => {
    const allowed = await get('gatehouse.js', { origin: PAGE })
    assert.equal(allowed.headers.get('access-control-allow-origin'), PAGE)
    assert.match(allowed.headers.get('vary') ?? '', /origin/i)
    const foreign = await get('gatehouse.js', { origin: 'https://evil.example' })
    assert.equal(foreign.headers.get('access-control-allow-origin'), null)
  })

  test('is a package with its manifest and its types', async () => {
    const reply = await get('gatehouse-client.tgz')
    assert.equal(reply.headers.get('content-type'), 'application/gzip')
    assert.equal(reply.headers.get('content-encoding'), null)
    const archive = gunzipSync(Buffer.from(await reply.arrayBuffer()))
    const names = [...archive.toString('latin1').matchAll(/(package\/[\w./-]+)\0/g)].map(([, name]) => name)
    for (const name of ['package.json', 'dist/index.js', 'types/index.d.ts', 'types/stream/live.d.ts'])
      assert.ok(names.includes(`package/${name}`), name)
    assert.match(archive.toString('utf8', 512, 1024), /"name": "gatehouse-client"/)
  })
})
