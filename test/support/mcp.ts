/** A client of the Model Context Protocol of a few lines, in both eras, and tokens of users of the demonstration for it. */
import assert from 'node:assert/strict'
import { ALICE, post } from './demo-user.ts'

export const MODERN = '2026-07-28'
const META = 'io.modelcontextprotocol/'

interface Reachable {
  readonly port: number
  readonly issuer: string
}

export interface McpReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, it asserts.
  readonly body: any
}

export async function agentToken(server: Reachable, user = ALICE, client = 'demo-cli'): Promise<string> {
  const fields = { grant_type: 'password', client_id: client, ...user, resource: `${server.issuer}/mcp` }
  const reply = await post(server, '/connect/token', fields)
  const body = (await reply.json()) as { access_token: string }
  assert.equal(reply.status, 200, JSON.stringify(body))
  return body.access_token
}

export interface Envelope {
  readonly capabilities?: object
  readonly version?: string
  readonly headers?: Record<string, string>
  readonly meta?: object
  readonly id?: unknown
}

/** A modern client: everything is in each request. */
export class McpClient {
  readonly url: string
  readonly #token: string
  #id = 0

  constructor(server: { readonly port: number }, token: string) {
    this.url = `http://127.0.0.1:${server.port}/mcp`
    this.#token = token
  }

  /** Any body, with these headers and those that every request has. */
  async post(body: unknown, headers: Record<string, string> = {}): Promise<McpReply> {
    const reply = await this.open(body, headers)
    const text = await reply.text()
    return { status: reply.status, headers: reply.headers, text, body: parsed(text) }
  }

  open(body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  request(method: string, params: Record<string, unknown> = {}, envelope: Envelope = {}): Promise<McpReply> {
    const { body, headers } = this.envelope(method, params, envelope)
    return this.post(body, headers)
  }

  envelope(method: string, params: Record<string, unknown>, envelope: Envelope = {}) {
    const { capabilities = {}, version = MODERN, headers = {}, meta = {}, id = ++this.#id } = envelope
    const _meta = { [`${META}protocolVersion`]: version, [`${META}clientCapabilities`]: capabilities, ...meta }
    const name = params.name ?? params.uri
    return {
      body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
      headers: {
        'mcp-protocol-version': version,
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
        ...headers,
      },
    }
  }

  /** As clients from before 2026. */
  legacy(method: string, params?: Record<string, unknown>): Promise<McpReply> {
    return this.post({ jsonrpc: '2.0', id: ++this.#id, method, ...(params && { params }) })
  }

  async call(tool: string, args: object = {}, envelope: Envelope = {}) {
    const reply = await this.request('tools/call', { name: tool, arguments: args }, envelope)
    assert.equal(reply.status, 200, reply.text)
    assert.ok(reply.body.result !== undefined, reply.text)
    return reply.body.result
  }

  /** The text of a call that succeeds. */
  async text(tool: string, args: object = {}): Promise<string> {
    const { content, isError } = await this.call(tool, args)
    assert.equal(isError, undefined, content[0].text)
    return content[0].text
  }

  /** The text of a call that the model has to correct. */
  async error(tool: string, args: object = {}): Promise<string> {
    const { content, isError } = await this.call(tool, args)
    assert.equal(isError, true, content[0].text)
    return content[0].text
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
