/** The demonstration users against a running server: they sign in, revoke and stream. */
import assert from 'node:assert/strict'
import type { StreamClient } from './stream-client.ts'

interface Reachable {
  readonly port: number
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

export async function post(server: Reachable, path: string, fields: Record<string, string>): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
}

export const ALICE = { username: 'alice', password: 'wonderland-1' }
export const ADMIN = { username: 'admin', password: 'admin-please-change' }

export async function signIn(server: Reachable, user = ALICE): Promise<Tokens> {
  const fields = { grant_type: 'password', client_id: 'demo-cli', ...user }
  const reply = await post(server, '/connect/token', fields)
  assert.equal(reply.status, 200)
  return (await reply.json()) as Tokens
}

export const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

export async function identify(client: StreamClient): Promise<Record<string, unknown>> {
  const { Data } = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 })
  return Data as Record<string, unknown>
}
