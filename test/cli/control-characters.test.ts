/** Texts of servers and files in the errors of commands: they cannot control the terminal. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { PrintableText } from '../../packages/server/src/cli/output/printable-text.ts'
import { credentialsFile, writeLogin } from '../../packages/server/src/cli/sign-in/credentials.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Finished } from '../support/process.ts'

/** Sets the title of a terminal, moves the cursor, rings, reverses the text; C1 controls do the same as escapes. */
const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\r\u009b31m\u202e\u0000'
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/

const base = mkdtempSync(join(tmpdir(), 'gatehouse-hostile-'))
const tokenFile = join(base, 'token')
let hostile: Server
let issuer: string
before(async () => {
  writeFileSync(tokenFile, 'token\n')
  hostile = createServer((request, response) => {
    if (request.url?.startsWith('/.well-known/') === true) {
      const endpoints = { token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device` }
      response.end(
        JSON.stringify({
          issuer,
          ...endpoints,
          revocation_endpoint: `${issuer}/revoke`,
          userinfo_endpoint: `${issuer}/me`,
        }),
      )
      return
    }
    response.writeHead(400, { 'content-type': 'application/problem+json' })
    const problem = {
      Code: `x${HOSTILE}`,
      detail: `bad ${HOSTILE}\nsecond line`,
      Hint: `try ${HOSTILE}`,
      error: `e${HOSTILE}`,
    }
    response.end(JSON.stringify({ ...problem, error_description: `d${HOSTILE}` }))
  }).listen(0, '127.0.0.1')
  await once(hostile, 'listening')
  issuer = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`
})
after(() => {
  hostile.close()
  rmSync(base, { recursive: true, force: true })
})

function assertClean({ status, stdout, stderr }: Finished, what: string): void {
  assert.notEqual(status, 0, what)
  assert.match(stderr, /\\u001b/, `${what}: the characters are shown as escapes`)
  assert.doesNotMatch(stderr + stdout, RAW, what)
}

test('what a server answers is printed without its control characters', async () => {
  const remote = ['--server', issuer, '--token-file', tokenFile]
  const login = { clientId: 'x', accessToken: 'x', expiresAt: Number.MAX_SAFE_INTEGER, refreshToken: undefined }
  writeLogin(issuer, login, credentialsFile({ XDG_CONFIG_HOME: base }))
  for (const args of [
    ['query', 'SELECT 1', ...remote],
    ['export', '--table', 'x', ...remote],
    ['query', ...remote],
    ['query', '--live', 'SELECT 1', ...remote],
    ['import', tokenFile, '--table', 'x', ...remote],
    ['types', ...remote],
    ['whoami', ...remote],
    ['stream', issuer, '--token-file', tokenFile],
    ['user', 'list', '--server', issuer],
    ['login', '--server', issuer],
    ['logout', '--server', issuer],
    ['query', 'SELECT 1', '--server', issuer, '--username', 'a', '--password-file', tokenFile],
  ])
    assertClean(
      await runInProcess(args, { environment: { XDG_CONFIG_HOME: base }, stdin: 'SELECT 1;' }),
      args.join(' '),
    )
})

test('a stream to a terminal has no control characters, wherever it is cut', async () => {
  const bytes = Buffer.from(`a,b\r\n${HOSTILE},日本\r\n`)
  for (let at = 0; at <= bytes.length; at++) {
    const filter = new PrintableText()
    filter.write(bytes.subarray(0, at))
    filter.end(bytes.subarray(at))
    const shown = await text(filter)
    assert.doesNotMatch(shown, RAW)
    assert.match(shown, /^a,b\n\\u001b\]0;owned.*,日本\n$/)
  }
})

test('a line break from the server does not begin a new line', async () => {
  const { stderr } = await runInProcess(['query', 'SELECT 1', '--server', issuer, '--token-file', tokenFile])
  assert.doesNotMatch(stderr, /^second line/m)
})

test('names in a declarative file are printed without control characters', async () => {
  const file = join(base, 'hostile.json')
  await runInProcess(['migrate', '--create', '--data', join(base, 'data')])
  for (const declaration of [
    { [`set${HOSTILE}`]: {} },
    { settings: { [`log${HOSTILE}`]: 'x' } },
    { users: [{ username: 'a', roles: [`r${HOSTILE}`] }] },
  ]) {
    writeFileSync(file, JSON.stringify(declaration))
    const args = ['apply', '--config', file, '--data', join(base, 'data')]
    assertClean(await runInProcess(args), JSON.stringify(declaration))
  }
})

test('arguments are printed without control characters', async () => {
  const hostileText = HOSTILE.replaceAll('\0', '')
  for (const args of [
    [`x${hostileText}`],
    ['config', `--x${hostileText}`],
    ['config', '--log-level', `x${hostileText}`],
  ])
    assertClean(await runInProcess(args), args.join(' '))
})
