/** The demonstration data: users, clients and tables with known passwords, for loopback only. */
import type { CsvRow } from 'gatehouse-csv'
import { SCOPES } from 'gatehouse-protocol'
import type { KnownSecrets } from '../store/known-secrets.ts'
import { VISITOR } from './demo-licences.ts'
import { demoInstruments, demoQuotes, demoTrades } from './demo-market.ts'
import type { Declaration } from './shape.ts'

const EVERYTHING = SCOPES.join(' ')
const CALLBACK = 'http://localhost:5090/callback'
/** The pages in examples/: a single-page application, a React page, and an Express application. */
const SPA = 'http://localhost:5090'
const REACT = 'http://localhost:5091'
const EXPRESS = 'http://localhost:5092'

export const DEMO: Declaration = {
  roles: [
    {
      name: 'trader',
      description: 'Sees the market, trades',
      scopes: ['Platform/Market', 'Platform/News', 'Platform/Trading', 'Platform/OrderPad'],
    },
    { name: 'admin', description: 'May do everything', scopes: SCOPES.filter((scope) => scope.includes('/')) },
  ],
  users: [
    {
      username: 'alice',
      password: 'wonderland-1',
      roles: ['trader'],
      name: 'Alice Liddell',
      given_name: 'Alice',
      family_name: 'Liddell',
      email: 'alice@example.com',
      email_verified: true,
      locale: 'en-GB',
      zoneinfo: 'Europe/London',
    },
    {
      username: 'admin',
      password: 'admin-please-change',
      roles: ['admin'],
      name: 'Demo Administrator',
      email: 'admin@example.com',
      email_verified: true,
    },
  ],
  // On loopback, where people try things out.
  agents: [{ allow: '*' }],
  clients: [
    {
      client_id: 'gatehouse-cli',
      client_name: 'Gatehouse command line',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'password', 'refresh_token'],
      response_types: [],
      scope: EVERYTHING,
    },
    {
      client_id: 'demo-cli',
      client_name: 'Demo command line',
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token'],
      response_types: [],
      scope: EVERYTHING,
    },
    {
      client_id: 'demo-service',
      client_name: 'Demo service',
      client_secret: 'demo-service-secret',
      grant_types: ['client_credentials', 'password', 'refresh_token'],
      response_types: [],
      scope: EVERYTHING,
    },
    {
      client_id: 'demo-web',
      client_name: 'Demo web application',
      client_secret: 'demo-web-secret',
      grant_types: ['authorization_code', 'implicit', 'refresh_token'],
      response_types: [
        'code',
        'token',
        'id_token',
        'id_token token',
        'code id_token',
        'code token',
        'code id_token token',
      ],
      redirect_uris: [CALLBACK, `${EXPRESS}/callback`],
      post_logout_redirect_uris: ['http://localhost:5090/', `${EXPRESS}/`],
      scope: EVERYTHING,
    },
    {
      client_id: 'demo-spa',
      client_name: 'Demo single-page application',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [CALLBACK, `${SPA}/`, `${REACT}/`],
      post_logout_redirect_uris: [`${SPA}/`, `${REACT}/`],
      allowed_origins: [SPA, REACT],
      require_pkce: true,
      scope: EVERYTHING,
    },
    {
      client_id: 'demo-device',
      client_name: 'Demo device',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types: [],
      scope: EVERYTHING,
    },
  ],
  tables: [
    {
      name: 'instruments',
      description: 'What can be traded (demonstration data)',
      columns: [
        { name: 'symbol', type: 'Text', primary_key: true },
        { name: 'name', type: 'Text', nullable: false },
        { name: 'sector', type: 'Text', nullable: false },
        { name: 'currency', type: 'Text', nullable: false },
        { name: 'lot_size', type: 'Integer', nullable: false },
        { name: 'tick_size', type: 'Decimal(10,4)', nullable: false },
        { name: 'listed', type: 'Date', nullable: false },
        { name: 'active', type: 'Boolean', nullable: false },
      ],
      read_scope: 'Platform/Market',
    },
    {
      name: 'trades',
      description: 'The latest trades (demonstration data)',
      columns: [
        { name: 'id', type: 'Integer', primary_key: true },
        { name: 'symbol', type: 'Text', nullable: false },
        { name: 'side', type: 'Text', nullable: false },
        { name: 'quantity', type: 'Integer', nullable: false },
        { name: 'price', type: 'Decimal(18,4)', nullable: false },
        { name: 'venue', type: 'Text' },
        { name: 'executed_at', type: 'Timestamp', nullable: false },
      ],
      indexes: [{ name: 'trades_symbol', columns: ['symbol', 'executed_at'] }],
      read_scope: 'Platform/Market',
      write_scope: 'Platform/Trading',
    },
    {
      name: 'quotes',
      description: 'The latest quotes (demonstration data)',
      columns: [
        { name: 'symbol', type: 'Text', primary_key: true },
        { name: 'quoted_at', type: 'Timestamp', primary_key: true },
        { name: 'bid', type: 'Decimal(18,4)', nullable: false },
        { name: 'ask', type: 'Decimal(18,4)', nullable: false },
        { name: 'bid_size', type: 'Integer', nullable: false },
        { name: 'ask_size', type: 'Integer', nullable: false },
      ],
      read_scope: 'Platform/Market',
      write_scope: 'Platform/Trading',
    },
  ],
  views: [
    {
      name: 'bars_1m',
      description: 'Bars of a minute, kept up to date (demonstration data)',
      query: `SELECT symbol, time_bucket('1 minute', executed_at) AS bar, first(price, executed_at) AS open, max(price) AS high, min(price) AS low,
        last(price, executed_at) AS close, sum(quantity) AS volume FROM trades GROUP BY symbol, bar`,
      materialized: true,
    },
    {
      name: 'bars_1h',
      description: 'Bars of an hour, of those of a minute (demonstration data)',
      query: `SELECT symbol, time_bucket('1 hour', bar) AS hour, first(open, bar) AS open, max(high) AS high, min(low) AS low,
        last(close, bar) AS close, sum(volume) AS volume FROM bars_1m GROUP BY symbol, hour`,
      materialized: true,
    },
  ],
}

/** Tables with history keep it by column, too. */
export const COLUMNAR_DEMO: typeof DEMO = {
  ...DEMO,
  tables: (DEMO.tables ?? []).map((table) => (table.name === 'instruments' ? table : { ...table, columnar: true })),
}

/** A server that other machines can reach does not start while one of these is accepted. */
export const DEMO_SECRETS = {
  users: [...(DEMO.users ?? []), VISITOR].flatMap(({ username, password }) =>
    typeof password === 'string' ? [{ username, password }] : [],
  ),
  clients: (DEMO.clients ?? []).flatMap(({ client_id: id, client_secret: secret }) =>
    typeof secret === 'string' ? [{ id, secret }] : [],
  ),
} satisfies KnownSecrets

/** Rows by table name; the first row names the columns. */
export const DEMO_ROWS: ReadonlyMap<string, () => AsyncIterable<CsvRow>> = new Map([
  ['instruments', () => stream(demoInstruments())],
  ['trades', () => stream(demoTrades())],
  ['quotes', () => stream(demoQuotes())],
])

async function* stream(rows: Iterable<CsvRow>): AsyncGenerator<CsvRow> {
  yield* rows
}
