/** `gatehouse apply` in another process takes effect on the running server at once. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-live-'))
const data = join(base, 'data')
const file = join(base, 'gatehouse.json')
let server: RunningProcess

const FIRST = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [
    { username: 'alice', password: 'wonderland-1', roles: ['trader'] },
    { username: 'bob', password: 'wonderland-2', roles: ['trader'] },
  ],
  clients: [
    {
      client_id: 'cli',
      token_endpoint_auth_method: 'none',
      grant_types: ['password'],
      response_types: [],
      scope: 'openid Platform/Market',
    },
  ],
} satisfies Declaration

before(async () => {
  writeFileSync(file, JSON.stringify(FIRST))
  server = await serveProcess(['--data', data, '--config', file])
})
after(async () => {
  await server.stop()
  rmSync(base, { recursive: true, force: true })
})

async function apply(declaration: Declaration): Promise<void> {
  writeFileSync(file, JSON.stringify(declaration))
  const { status, stderr } = await runGatehouse(['apply', '--data', data, '--config', file])
  assert.equal(status, 0, stderr)
}

async function requestToken(username: string, password: string): Promise<string | undefined> {
  const response = await fetch(`${server.issuer}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'cli', username, password }),
  })
  return /"access_token":"([^"]+)"/.exec(await response.text())?.[1]
}

async function query(token: string | undefined, statement: string): Promise<number> {
  const response = await fetch(`${server.issuer}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' },
    body: statement,
  })
  await response.arrayBuffer()
  return response.status
}

/** A change must take effect within a second; on a busy machine the test waits longer. */
async function becomes(status: number, measure: () => Promise<number>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await measure()) === status) return
    await sleep(100)
  }
  assert.equal(await measure(), status)
}

test('tokens of a disabled user stop working, those of others do not', async () => {
  const [alice, bob] = await Promise.all([requestToken('alice', 'wonderland-1'), requestToken('bob', 'wonderland-2')])
  assert.equal(await query(alice, 'select name from cataloguetables'), 200)
  await apply({ ...FIRST, users: FIRST.users.map((user) => ({ ...user, disabled: user.username === 'alice' })) })
  await becomes(401, () => query(alice, 'select name from cataloguetables'))
  assert.equal(await query(bob, 'select name from cataloguetables'), 200)
  assert.equal(await requestToken('alice', 'wonderland-1'), undefined)
})

test('issued tokens lose a scope with their client, and regain it', async () => {
  const bob = await requestToken('bob', 'wonderland-2')
  assert.equal(await query(bob, 'select name from cataloguetables'), 200)
  await apply({ ...FIRST, clients: FIRST.clients.map((client) => ({ ...client, scope: 'openid' })) })
  await becomes(403, () => query(bob, 'select name from cataloguetables'))
  await apply(FIRST)
  await becomes(200, () => query(bob, 'select name from cataloguetables'))
})

test('a new table can be queried', async () => {
  const bob = await requestToken('bob', 'wonderland-2')
  writeFileSync(join(base, 'rows.csv'), 'id,note\n1,first\n2,\n')
  const notes = {
    name: 'notes',
    columns: [
      { name: 'id', type: 'Integer', primary_key: true },
      { name: 'note', type: 'Text' },
    ],
    csv: 'rows.csv',
  }
  assert.equal(await query(bob, 'select id from notes'), 400)
  await apply({ tables: [notes] })
  await becomes(200, () => query(bob, 'select id from notes where note is null'))
})

test('an attribute and a table whose row filter uses it can be in one file', async () => {
  const bob = await requestToken('bob', 'wonderland-2')
  const desks = { name: 'desks', columns: [{ name: 'desk', type: 'Text' }], row_filter: 'desk = :attribute.desk' }
  await apply({ attributes: [{ name: 'desk', type: 'Text' }], tables: [desks] })
  await becomes(200, () => query(bob, 'select desk from desks'))
  await apply({ tables: [{ ...desks, row_filter: 'desk <> :attribute.desk' }] })
})

test('a removed client gets no tokens', async () => {
  await apply({ clients: [], prune: true })
  await becomes(0, async () => ((await requestToken('bob', 'wonderland-2')) === undefined ? 0 : 1))
})
