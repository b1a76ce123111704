/** A caller of the alerts of a running server. */
import assert from 'node:assert/strict'
import { ADMIN, post, signIn } from '../support/demo-user.ts'

// biome-ignore lint/suspicious/noExplicitAny: replies have many shapes, and tests assert on each
type Reply = any

export class AlertClient {
  readonly #server: { readonly port: number }
  readonly #token: string

  private constructor(server: { readonly port: number }, token: string) {
    this.#server = server
    this.#token = token
  }

  static async signIn(server: { readonly port: number }, user = ADMIN): Promise<AlertClient> {
    return new AlertClient(server, (await signIn(server, user)).access_token)
  }

  /** With a token that has no other scope. */
  static async withScope(server: { readonly port: number }, scope: string, user = ADMIN): Promise<AlertClient> {
    const fields = { grant_type: 'password', client_id: 'demo-cli', scope, ...user }
    const reply = await post(server, '/connect/token', fields)
    const { access_token: token } = (await reply.json()) as { access_token: string }
    return new AlertClient(server, token)
  }

  async request(method: string, path: string, body?: unknown, ifMatch = '*'): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#server.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(ifMatch !== '' && { 'if-match': ifMatch }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

  /** Asserts that it succeeds. */
  async call(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await this.request(method, path, body)
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  query(statement: string): Promise<Reply> {
    return this.call('POST', '/query', { Statement: statement })
  }

  create(alert: object): Promise<Reply> {
    return this.call('POST', '/alerts', alert)
  }

  get(id: string): Promise<Reply> {
    return this.call('GET', `/alerts/${id}`)
  }

  /** How many alerts the keeper has in a state. */
  async countInState(state: string): Promise<number> {
    const text = await (await this.request('GET', '/metrics')).text()
    return Number(new RegExp(`^gatehouse_alerts\\{state="${state}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
  }

  /** A webhook that everybody may use; returns its secret. */
  async declareChannel(name: string, url: string, members: object = {}): Promise<string> {
    const body = { name, kind: 'webhook', url, private: true, use: 'Platform/Market', ...members }
    const { secret } = await this.call('POST', '/admin/channels', body)
    return secret
  }
}
