/** Names that every object inherits, such as `constructor`, wherever a name comes from outside: they are unknown names. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { runInProcess } from '../support/in-process.ts'
import { useServer } from '../support/server.ts'

const INHERITED = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', '__defineGetter__']

describe('names that every object inherits', () => {
  let token: string
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-names-'))
  before(async () => {
    await runInProcess(['migrate', '--create', '--data', join(folder, 'data')])
  })
  const server = useServer({ flags: { '--demo': 'true', '--limit-exempt': '' } }, async () => {
    token = (await signIn(server, ADMIN)).access_token
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
  })

  function call(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers }
    return fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: 'manual', ...init, headers })
  }

  /** No reply shows the text of a built-in function. */
  async function refusal(response: Response): Promise<{ status: number; text: string }> {
    const text = await response.text()
    assert.doesNotMatch(text, /native code|\[object|function \w*\(/)
    return { status: response.status, text }
  }

  for (const name of INHERITED) {
    test(`the path ${name} is not found, and counts against the rate limit`, async () => {
      for (const path of [`/${name}`, `/${name}/x`, `/connect/${name}`]) {
        const response = await call(path)
        assert.ok(response.headers.has('ratelimit'), path)
        assert.equal((await refusal(response)).status, 404, path)
      }
      for (const path of [`/admin/users/${name}`, `/admin/clients/${name}`, `/admin/roles/${name}`, `/admin/${name}`])
        assert.equal((await refusal(await call(path))).status, 404, path)
    })

    test(`the query parameter ${name} is unknown to the administration`, async () => {
      for (const path of ['/admin/users', '/admin/clients', '/admin/audit'])
        assert.equal((await refusal(await call(`${path}?${name}=1`))).status, 400, path)
    })

    test(`IQL knows no function, table, column, type or parameter ${name}`, async () => {
      for (const statement of [
        `select ${name}()`,
        `select ${name}(1)`,
        `select ${name}(1) over ()`,
        `select cast(1 as ${name})`,
        `select * from ${name}`,
        `select ${name} from CatalogueTables`,
        `select :${name}`,
      ]) {
        const response = await call('/Query', {
          method: 'POST',
          body: statement,
          headers: { 'content-type': 'text/plain' },
        })
        const { status, text } = await refusal(response)
        assert.ok(status === 400 || status === 404, `${statement}: ${status} ${text}`)
      }
    })

    test(`${name} is no operation, criterion or output format of the query service`, async () => {
      const post = (path: string, body: unknown) =>
        call(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
      assert.equal((await refusal(await post(`/Query/CatalogueTables/${name}`, {}))).status, 404)
      for (const criterion of [
        { ColumnName: name, Operator: '=', Value: 'x' },
        { ColumnName: 'name', Operator: name, Value: 'x' },
        JSON.parse(`{"${name}":[]}`),
      ]) {
        const { status, text } = await refusal(await post('/Query/CatalogueTables/Select', { Criteria: [criterion] }))
        assert.equal(status, 400, text)
      }
    })

    test(`${name} is no grant type, response type, prompt or scope`, async () => {
      const form = new URLSearchParams({ grant_type: name, client_id: 'demo-cli' })
      const reply = await fetch(`http://127.0.0.1:${server.port}/connect/token`, { method: 'POST', body: form })
      const { status, text } = await refusal(reply)
      assert.equal(status, 400)
      assert.match(text, /unsupported_grant_type/)
      for (const parameter of ['response_type', 'response_mode', 'prompt', 'display', 'scope', 'ui_locales']) {
        const response = await call(`/connect/authorize?client_id=demo-spa&${parameter}=${name}`)
        assert.ok(response.status < 500, `${parameter}: ${response.status}`)
        await refusal(response)
      }
    })

    test(`a declarative file has no setting ${name}`, async () => {
      const file = join(folder, 'settings.json')
      writeFileSync(file, `{"settings":{"${name}":"x"}}`)
      const { status, stderr } = await runInProcess(['config', '--config', file])
      assert.equal(status, 2)
      assert.match(stderr, new RegExp(`settings\\.${name}`))
    })

    test(`a secret from the environment variable ${name} is not set`, async () => {
      const file = join(folder, 'client.json')
      const client = { client_id: 'c', client_secret: { env: name }, grant_types: ['client_credentials'] }
      writeFileSync(file, JSON.stringify({ clients: [client] }))
      const { status, stderr } = await runInProcess([
        'apply',
        '--dry-run',
        '--config',
        file,
        '--data',
        join(folder, 'data'),
      ])
      assert.equal(status, 1)
      assert.match(stderr, new RegExp(`the environment variable ${name} is not set`))
    })
  }

  test('commands have no format, option or subcommand of such a name', async () => {
    for (const args of [
      ['export', '--format', 'constructor', '--table', 'x', '--server', server.issuer],
      ['constructor'],
      ['user', 'constructor'],
      ['config', '--constructor', 'x'],
      ['completion', 'toString'],
    ]) {
      const { status, stderr } = await runInProcess(args)
      assert.equal(status, 2, `${args.join(' ')}: ${stderr}`)
      assert.doesNotMatch(stderr, /native code|\n {4}at /)
    }
  })
})
