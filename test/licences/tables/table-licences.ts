/** A server with a table that products cover, and every way to read it, for tests. */
import assert from 'node:assert/strict'
import { type EventClient, openEvents, type ServerEvent } from '../../support/event-client.ts'
import { WireSession } from '../../support/wire-session.ts'
import type { LicenceServer, Reply } from '../licence-server.ts'

type ReachedServer = Pick<LicenceServer, 'url' | 'wirePort' | 'alice' | 'admin' | 'send'>

export interface TablePlace<Server extends ReachedServer = LicenceServer> {
  readonly server: Server
  /** As alice, unless another token is given. */
  query(statement: string, token?: string, headers?: Readonly<Record<string, string>>): Promise<Reply>
  /** Throws unless it succeeds. */
  rows(statement: string, token?: string): Promise<unknown[][]>
  /** Status, code, products and reason of a refused statement. */
  refusal(statement: string, token?: string): Promise<unknown[]>
  admin(method: string, path: string, body?: unknown): Promise<Reply>
  patch(path: string, body: unknown): Promise<void>
  live(statement: string, token?: string): Promise<EventClient>
  wire(token?: string, user?: string): Promise<WireSession>
}

const ARRAYS = { accept: 'application/json' }

export function tablePlace<Server extends ReachedServer>(server: Server): TablePlace<Server> {
  const query: TablePlace['query'] = (statement, token = server.alice, headers = {}) =>
    server.send('POST', '/query?rows=arrays', {
      token,
      body: { Statement: statement },
      headers: { ...ARRAYS, ...headers },
    })
  const admin: TablePlace['admin'] = (method, path, body) =>
    server.send(method, `/admin${path}`, { token: server.admin, ...(body === undefined ? {} : { body }) })
  return {
    server,
    query,
    admin,
    async rows(statement, token) {
      const { status, body } = await query(statement, token)
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
      return body.Rows
    },
    async refusal(statement, token) {
      const { status, body } = await query(statement, token)
      return [status, body.Code, body.Products, body.Reason].filter((each) => each !== undefined)
    },
    async patch(path, body) {
      const headers = { 'if-match': '*' }
      const reply = await server.send('PATCH', `/admin${path}`, { token: server.admin, body, headers })
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
    },
    live: (statement, token = server.alice) =>
      openEvents(`${server.url}/query?rows=arrays`, {
        token,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Statement: statement }),
      }),
    wire: (token = server.alice, user = 'alice') => WireSession.open(server.wirePort ?? 0, user, token),
  }
}

/** Of a product that covers rows of the table `ticks`; the program `handler` fills it. */
export const PRODUCTS = `
products:
  - { name: NYSE, covers: [{ table: ticks, column: venue, values: [XNYS, ARCX] }, { table: Copies, column: venue, values: [XNYS] }] }
  - { name: LSE, covers: [{ table: ticks, column: venue, values: [XLON] }] }
  - { name: WHOLE, covers: [{ table: secrets }] }
entitlements:
  - { product: NYSE, user: alice, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
  - { product: WHOLE, client: handler, access: realtime, kind: exempt }
`

/** Venues of the rows, whose prices are 1, 2, 3, …: alice has a licence of the first two. */
export const VENUES = ['XNYS', 'ARCX', 'XLON', 'NONE'] as const

export async function fill(place: TablePlace): Promise<void> {
  const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
  const define = async (statement: string) => {
    const { status, body } = await place.query(statement, place.server.admin)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
  }
  for (const name of ['ticks', 'secrets', 'free', 'Copies'])
    await define(
      `CREATE TABLE ${name} (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer NOT NULL, note Text) ${scopes}`,
    )
  await define('CREATE INDEX ticks_venue ON ticks (venue, price)')
  await define('CREATE VIEW all_ticks AS SELECT * FROM ticks')
  for (const [index, venue] of VENUES.entries()) await insert(place, 'ticks', index + 1, venue, index + 1)
  await insert(place, 'secrets', 1, 'X', 41)
  await insert(place, 'free', 1, 'X', 1)
}

export async function insert(
  place: TablePlace,
  table: string,
  id: number,
  venue: string,
  price: number,
  note = 'n',
): Promise<void> {
  const statement = `INSERT INTO ${table} (id, venue, price, note) VALUES (${id}, '${venue}', ${price}, '${note}')`
  const { status, body } = await place.query(statement, place.server.handler)
  assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
}

/** Of the rows of a snapshot. */
export function keys({ data }: ServerEvent): unknown {
  const { Put } = data
  return Array.isArray(Put) ? Put.map(({ Key }) => Key) : data
}
