/** A server with protected tables, a feed and a topic, and tokens of one user whose sign-ins differ in factors and age. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestPlace } from '../support/engines.ts'
import { json, type RemoteProgram, startProgram } from '../support/remote-program.ts'
import { authorizeUrl, openSignInPlace, readAnswer, type SignInPlace } from '../support/sign-in-place.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'

export const DESK = { client_id: 'desk', redirect_uri: 'https://desk.example.com/cb' } as const
const SCOPES = 'Platform/Market Platform/Trading Platform/Admin'

const DECLARATION = (program: string) => `feeds:
  - { name: Fills, read: Platform/Market, write: Platform/Trading, keep: all, history: { messages: 10 }, require_acr: 2, require_age: 600 }
  - { name: Desk, read: Platform/Market, write: Platform/Trading, write_require_acr: 2 }
controllers:
  - name: Orders
    url: ${program}
    topics: [{ name: Place, needs: Platform/Trading, require_acr: 2, require_age: 60 }, { name: Ping, needs: identity }]
tables:
  - name: positions
    columns: [{ name: id, type: Integer, primary_key: true }, { name: quantity, type: Integer }]
    read_scope: Platform/Market
    require_acr: 2
    require_age: 300
  - name: limits
    columns: [{ name: id, type: Integer, primary_key: true }, { name: quantity, type: Integer }]
    read_scope: Platform/Market
    write_scope: Platform/Market
    write_require_acr: 2
  - name: fresh
    columns: [{ name: id, type: Integer, primary_key: true }]
    read_scope: Platform/Market
    require_age: 60
views:
  - { name: exposure, query: SELECT sum(quantity) AS total FROM positions, read_scope: Platform/Market }
  - { name: nested, query: SELECT total FROM exposure }
`

export interface StepUpPlace extends SignInPlace {
  readonly program: RemoteProgram
  /** Two factors, just now. */
  readonly strong: string
  /** One factor, just now. */
  readonly weak: string
  /** A token of a sign-in with these factors, the given seconds ago. */
  token(factors: 1 | 2, ageSeconds?: number): Promise<string>
  /** Without a user. */
  clientToken(): Promise<string>
  send(method: string, path: string, token: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  query(statement: string, token: string, headers?: Record<string, string>): Promise<Response>
  stream(token: string): Promise<StreamClient>
  /** The recorded events `stepup.asked`. */
  asked(): Promise<readonly { actor: string | null; details: string }[]>
}

export async function openStepUpPlace(
  at: TestPlace,
  flags: Readonly<Record<string, string>> = {},
): Promise<StepUpPlace> {
  const program = await startProgram()
  program.answer = json('{"ok":true}')
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-step-up-'))
  const file = join(folder, 'gate.yaml')
  await writeFile(file, DECLARATION(program.url))
  const place = await openSignInPlace(at, {
    flags: { '--config': file, '--stream-drain-time': '0', ...flags },
    clients: [
      {
        client_id: DESK.client_id,
        redirect_uris: [DESK.redirect_uri],
        response_types: ['token', 'id_token token', 'code'],
        grant_types: ['implicit', 'client_credentials', 'authorization_code'],
        scope: `openid ${SCOPES}`,
        skip_consent: true,
      },
    ],
  })
  const { server, stores, clock } = place
  await stores.roles.put({ name: 'desk', scopes: SCOPES.split(' ') })
  const userId = await stores.users.create({ username: 'carol', passwordHash: '', roles: ['desk'] })
  const url = `http://127.0.0.1:${server.port}`
  const streams: StreamClient[] = []

  async function token(factors: 1 | 2, ageSeconds = 0): Promise<string> {
    const { cookie } = await stores.sessions.open(userId, {
      amr: factors === 2 ? ['pwd', 'otp', 'mfa'] : ['pwd'],
      authTime: clock() - ageSeconds * 1000,
      userAgent: '',
      address: '127.0.0.1',
    })
    const agent = place.newAgent()
    agent.jar.store(new URL(server.issuer), [`gatehouse=${cookie}; Path=/`])
    const asked = { ...DESK, response_type: 'token', scope: SCOPES, nonce: undefined }
    const answer = readAnswer(await agent.get(authorizeUrl(server.issuer, asked)))
    const issued = answer.get('access_token')
    assert.ok(issued, JSON.stringify([...answer]))
    return issued
  }

  const send: StepUpPlace['send'] = (method, path, access, body, headers = {}) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${access}`,
        'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })

  const opened: StepUpPlace = {
    ...place,
    program,
    strong: await token(2),
    weak: await token(1),
    token,
    async clientToken() {
      const fields = { grant_type: 'client_credentials', client_id: DESK.client_id, scope: SCOPES }
      const secret = 'a client secret that is long enough'
      const reply = await fetch(`${url}/connect/token`, {
        method: 'POST',
        body: new URLSearchParams({ ...fields, client_secret: secret }),
      })
      const { access_token: issued } = (await reply.json()) as { access_token: string }
      return issued
    },
    send,
    query: (statement, access, headers) => send('POST', '/query', access, statement, headers),
    async stream(access) {
      const stream = await connect(server.port, { headers: { authorization: `Bearer ${access}` } })
      streams.push(stream)
      return stream
    },
    asked: () =>
      place.database.db
        .selectFrom('audit_log')
        .select(['actor', 'details'])
        .where('event', '=', 'stepup.asked')
        .orderBy('seq')
        .execute(),
    async close() {
      for (const { socket } of streams) socket.terminate()
      await place.close()
      await program.stop()
      await rm(folder, { recursive: true })
    },
  }
  const filled = await opened.query('INSERT INTO positions VALUES (1, 100), (2, 250)', opened.strong)
  assert.equal(filled.status, 200, await filled.text())
  return opened
}
