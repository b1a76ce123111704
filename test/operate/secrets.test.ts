/** No secret, token, code or password appears in logs, metrics, traces, audit rows, errors or, in clear text, in the database. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import WebSocket from 'ws'
import { openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { onEveryEngineInLongRuns, type TestPlace } from '../support/engines.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import {
  ALICE,
  authorizeUrl,
  CALLBACK,
  newVerifier,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { visit } from '../support/visitor.ts'

onEveryEngineInLongRuns('secrets', (at) => {
  let server: TestServer
  const secrets = new Map<string, string>()
  const seen: string[] = []
  /** Remembers a value that only its recipient may see. */
  const note = (name: string, value: unknown) => {
    assert.ok(typeof value === 'string' && value.length >= 8, `${name} is ${String(value)}`)
    secrets.set(`${name} ${secrets.size}`, value)
    return value
  }

  before(async () => {
    server = await startTestServer(at(), { flags: { '--demo': 'true', '--metrics-port': '0' } })
  })
  after(() => server.stop())

  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const response = await fetch(server.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    const text = await response.text()
    if (response.status >= 400) seen.push(text)
    return JSON.parse(text || '{}')
  }

  test('a run of all endpoints leaks no secret', async () => {
    await useTokenEndpoints()
    await useAdministration()
    await useStreaming()
    await useQuery()
    await misuseEndpoints()
    await runCommands()
    await server.stop()

    const written = {
      log: server.log.join(''),
      replies: seen.join('\n'),
      database: await storedText(at()),
    }
    for (const [where, text] of Object.entries(written)) assert.ok(text.length > 200, `the ${where} is empty`)
    assert.deepEqual(leaksIn(written, secrets), [])
  })

  test('the search finds secrets planted in the log, in a response and in the database', async () => {
    const planted = new Map([['planted', 'planted-secret-of-nobody']])
    const database = await openDatabase({ dataFolder: at().dataFolder, url: at().databaseUrl })
    const audit = openAuditLog(database, {
      clock: Date.now,
      node: 'test',
      onError: (error) => assert.fail(String(error)),
    })
    const stored = async () => ({ log: '', replies: '', database: await storedText(at()) })
    assert.deepEqual(leaksIn(await stored(), planted), [])
    audit.record({ event: 'token.refused', details: { reason: 'planted-secret-of-nobody' } })
    await audit.close()
    await database.close()
    assert.deepEqual(leaksIn(await stored(), planted), ['planted is in the database'])
    const clean = { log: 'x', replies: 'x', database: 'x' }
    assert.deepEqual(leaksIn({ ...clean, log: 'a planted-secret-of-nobody!' }, planted), ['planted is in the log'])
    assert.deepEqual(leaksIn({ ...clean, replies: '$argon2id$v=19$m=1' }, planted), [
      'a password hash is in the replies',
    ])
    assert.deepEqual(leaksIn({ ...clean, log: 'eyJhbGciOiJ4In0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl' }, planted), [
      'a token is in the log',
    ])
  })

  async function useTokenEndpoints(): Promise<void> {
    const password = note('password', 'wonderland-1')
    const form = { grant_type: 'password', username: 'alice', password, client_id: 'demo-cli' }
    const tokens = await post('/connect/token', form)
    note('access token', tokens.access_token)
    note('refresh token', tokens.refresh_token)
    const renewed = await post('/connect/token', {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      client_id: 'demo-cli',
    })
    note('refresh token', renewed.refresh_token)
    note('access token', renewed.access_token)
    const secret = note('client secret', 'demo-service-secret')
    const basic = { authorization: `Basic ${note('credentials', btoa(`demo-service:${secret}`))}` }
    await post('/connect/introspect', { token: renewed.access_token }, basic)
    await post('/connect/introspect', { token: renewed.access_token, client_id: 'demo-service', client_secret: secret })
    await post('/connect/revocation', { token: renewed.refresh_token, client_id: 'demo-cli' })
    await post('/connect/token', {
      grant_type: 'refresh_token',
      refresh_token: renewed.refresh_token,
      client_id: 'demo-cli',
    })
    await post('/connect/token', { ...form, password: note('wrong password', 'not-the-password-99') })
    // A user enters the password in the field for the name.
    await post('/connect/token', { ...form, username: note('password as a name', 'oops-my-password-1') })
    await post('/connect/token', {
      grant_type: 'client_credentials',
      client_id: 'demo-service',
      client_secret: note('wrong secret', 'not-the-secret-at-all'),
    })
    await fetch(`${server.issuer}/connect/authorize?code=${note('code in a query', 'code-in-a-query-77')}&client_id=x`)
  }

  async function useAdministration(): Promise<void> {
    const admin = await adminToken()
    const call = async (method: string, path: string, body: unknown) => {
      const response = await fetch(server.issuer + path, {
        method,
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const text = await response.text()
      if (response.status >= 400) seen.push(text)
      return JSON.parse(text || '{}')
    }
    await call('POST', '/admin/users', { username: 'zoe', password: note('new password', 'zoe-has-a-password') })
    note('generated password', (await call('PUT', '/admin/users/zoe/password', {})).password)
    const client = { client_id: 'robot-2', grant_types: ['client_credentials'], scope: 'Platform/Market' }
    note('generated secret', (await call('POST', '/admin/clients', client)).client_secret)
    note('generated secret', (await call('POST', '/admin/clients/robot-2/secrets', {})).client_secret)
    await call(
      'POST',
      '/admin/users',
      `{"username": "broken", "password": "${note('broken body', 'in-a-broken-body-1')}`,
    )
    await call('POST', '/admin/users', { username: 'x', password_hash: note('hash in a body', 'hash-in-a-body-4711') })
    await call('POST', '/admin/users', { username: 'x', passwort: note('unknown member', 'in-an-unknown-member-5') })
    for (const path of [
      '/admin/settings',
      '/admin/audit?limit=1000',
      '/admin/clients',
      '/admin/users',
      '/admin/keys',
      '/metrics',
    ]) {
      const response = await fetch(server.issuer + path, { headers: { authorization: `Bearer ${admin}` } })
      seen.push(await response.text())
    }
    seen.push(await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text())
    seen.push(await (await fetch(`${server.issuer}/openapi.json`)).text())
  }

  async function adminToken(): Promise<string> {
    const password = note('admin password', 'admin-please-change')
    const tokens = await post('/connect/token', {
      grant_type: 'password',
      username: 'admin',
      password,
      client_id: 'demo-cli',
    })
    return note('admin token', tokens.access_token)
  }

  async function useStreaming(): Promise<void> {
    const token = await adminToken()
    const socket = new WebSocket(`${server.issuer.replace('http', 'ws')}/Platform?version=1.1`, 'PlatformJson')
    await once(socket, 'open')
    for (const AccessToken of [note('bad token', 'not-a-token-but-secret'), token]) {
      socket.send(
        JSON.stringify({
          Controller: 'Auth',
          Topic: 'AuthToken',
          TransactionID: 1,
          Data: { Provider: 'Bearer', AccessToken },
        }),
      )
      await once(socket, 'message')
    }
    socket.send(
      `{"Controller":"Auth","Topic":"AuthToken","Data":{"AccessToken":"${note('broken message', 'in-a-broken-message')}"`,
    )
    await once(socket, 'message')
    socket.close()
    await once(socket, 'close')
  }

  async function useQuery(): Promise<void> {
    const authorization = `Bearer ${await adminToken()}`
    for (const path of ['/query?p.who=hidden', '/query']) {
      const response = await fetch(server.issuer + path, {
        method: 'POST',
        headers: { authorization, 'content-type': 'text/plain' },
        body: 'SELECT nothing FROM nowhere',
      })
      seen.push(await response.text())
    }
    await fetch(`${server.issuer}/query`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${note('forged token', 'forged-token-of-somebody')}`,
        'content-type': 'text/plain',
      },
      body: 'SELECT 1',
    })
  }

  async function misuseEndpoints(): Promise<void> {
    await fetch(`${server.issuer}/admin/users?access_token=${note('token in a query', 'token-in-a-query-123')}`)
    await fetch(`${server.issuer}/nowhere/x?client_secret=${note('secret in a query', 'secret-in-a-query-12')}`)
    const response = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ password: note('password in JSON', 'password-in-json-12') }),
    })
    seen.push(await response.text())
  }

  async function runCommands(): Promise<void> {
    const { dataFolder, databaseUrl } = at()
    const environment = { GATEHOUSE_DATA: dataFolder, GATEHOUSE_DATABASE_URL: databaseUrl }
    const stdin = `${note('password from stdin', 'typed-by-an-operator')}\n`
    for (const args of [
      ['user', 'password', 'zoe'],
      ['config'],
      ['doctor'],
      ['audit', 'export'],
      ['client', 'list', '--json'],
    ]) {
      const { stdout, stderr } = await runGatehouse(args, { environment, stdin })
      seen.push(stdout, stderr)
    }
    if (databaseUrl !== '')
      assert.ok(!seen.join('').includes(databaseUrl), 'the URL of the database is shown with its password')
  }
})

onEveryEngineInLongRuns('secrets of the code flow', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  test('codes, verifiers and tokens are neither logged nor stored in clear text', async () => {
    const agent = place.newAgent()
    const { issuer } = place.server
    const { verifier, challenge } = newVerifier()
    const url = authorizeUrl(issuer, {
      scope: 'openid offline_access',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const { end } = await visit(agent, await agent.get(url), ALICE)
    const code = readAnswer(end).get('code') ?? ''
    const response = await fetch(`${issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`web:${encodeURIComponent(SECRET)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      }),
    })
    const tokens = JSON.parse(await response.text())
    const log = place.server.log.join('')
    assert.ok(log.includes('/connect/authorize'))
    for (const secret of [
      code,
      verifier,
      ALICE.password,
      SECRET,
      tokens.access_token,
      tokens.refresh_token,
      tokens.id_token,
    ]) {
      assert.ok(secret.length > 8)
      assert.ok(!log.includes(secret))
      assert.ok(!(await storedText(at())).includes(secret))
    }
  })
})

interface Written {
  readonly log: string
  readonly replies: string
  readonly database: string
}

/** Lists the known secrets that were found, and anything in the log or the responses that looks like a token or a hash. */
function leaksIn(written: Written, secrets: ReadonlyMap<string, string>): string[] {
  const leaks = Object.entries(written).flatMap(([where, text]) =>
    [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => `${name} is in the ${where}`),
  )
  for (const where of ['log', 'replies'] as const) {
    if (/eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/.test(written[where])) leaks.push(`a token is in the ${where}`)
    if (/\$argon2/.test(written[where])) leaks.push(`a password hash is in the ${where}`)
  }
  return leaks
}

/** All stored data as text. */
async function storedText({ dataFolder, databaseUrl }: TestPlace): Promise<string> {
  const parts: string[] = []
  for (const entry of await readdir(dataFolder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) parts.push((await readFile(join(entry.parentPath, entry.name))).toString('latin1'))
  if (databaseUrl !== '') {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const { rows } = await client.query<{ name: string }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname like 'gatehouse%'",
    )
    for (const { name } of rows)
      parts.push(
        (await client.query<{ line: string }>(`select r::text as line from ${name} r`)).rows
          .map(({ line }) => line)
          .join('\n'),
      )
    await client.end()
  }
  return parts.join('\n')
}
