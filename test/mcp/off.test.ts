/** Where agents are not served, /mcp is an address like any other at which nothing is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useServer } from '../support/server.ts'

const server = useServer()

test('off: a plain 404, also for the metadata of the resource', async () => {
  for (const path of ['/mcp', '/nowhere']) {
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: '{}' })
    const { Code: code } = (await reply.json()) as { Code: string }
    assert.deepEqual([reply.status, code, reply.headers.get('www-authenticate')], [404, 'http.not_found', null], path)
  }
})
